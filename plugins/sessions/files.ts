/** The tree of sessions: session/{new,idx} and session/{name}/{env,ctl,id,name,sandbox}. */
import { type Base, type Dir, dir, each, leaf, NineError, type Node, type Principal, text } from "#core";
import { ctl, type Verbs } from "#plugins/control";
import { mergeEnv, printEnv } from "./env.ts";
import { newSession } from "./new.ts";
import type { Registry } from "./sessions.ts";
import { writeTranscript } from "./transcript.ts";
import { PerSession, type Session } from "./types.ts";

type At = Base & { readonly session: Session };

/** `sandbox` gives the key=value lines of a session's sandbox. */
export function sessionDir(sessions: Registry, sandbox: (session: Session) => string | Promise<string>): Dir<Base> {
  return dir<Base>(
    "session",
    { doc: "The sessions, a directory each, by name; a walk also takes the UUID." },
    newSession(sessions),
    leaf<Base>("idx", {
      doc:
        "All agents, a line each, tab-separated: session, state, cwd, backend, model, agent, session UUID, agent UUID. " +
        "A session without agents has empty fields; one whose saved file is damaged has the state damaged.",
      read: () => index(sessions),
    }),
    each(
      PerSession,
      {
        doc: "One session: rm kills it, mv renames it.",
        list: () => sessions.list(),
        get: (_, name) => sessions.get(name),
        name: (session) => session.name,
        async rename(session, name) {
          sessions.rename(session, name);
          await sessions.save(session);
        },
        remove: (session) => sessions.kill(session),
        deny: (principal, op, session) =>
          principal.kind !== "agent" || (op === "remove" && principal.agent === session.creator?.agent)
            ? undefined
            : `session: permission denied: this agent may not ${op} it`,
      },
      ...files(sessions, sandbox),
    ),
  );
}

function files(sessions: Registry, sandbox: (session: Session) => string | Promise<string>): Node<At>[] {
  const control = ctl("session ctl", verbs(sessions));
  return [
    leaf<At>("env", {
      doc:
        "The session's variables, NAME=VALUE a line, for tools, hooks and !commands; OLLIE_SESSION_ID and the server's " +
        "OLLIE_* stand there too. A write merges, all or nothing; an empty value deletes.",
      mode: 0o644,
      commit: "close",
      max: 256 * 1024,
      deny: (principal, op, c) => foreign(principal, c) ?? (op === "w" ? noAgent(principal, "env") : undefined),
      rights: "an agent reads that of its own session, secrets left out",
      read: (c) => printEnv(c.session, { secrets: c.principal.kind !== "agent" }),
      async write(c, data) {
        mergeEnv(c.session, new TextDecoder().decode(data));
        await sessions.save(c.session);
      },
    }),
    leaf<At>("ctl", {
      doc: "Commands, one a line: kill, save, invalidate, pause, resume, help. All are checked before the first runs.",
      mode: 0o666,
      deny: (principal) => noAgent(principal, "session ctl"),
      rights: "user and hooks",
      rdwr: control,
    }),
    leaf<At>("id", { doc: "The session's UUID, which never changes.", ...text((c) => `${c.session.id}\n`) }),
    leaf<At>("name", {
      doc: "The session's name; a write renames.",
      mode: 0o644,
      deny: (principal, op) => (op === "w" ? noAgent(principal, "name") : undefined),
      rights: "user and hooks write",
      ...text((c) => `${c.session.name}\n`),
      async write(c, data) {
        sessions.rename(c.session, new TextDecoder().decode(data).replace(/\r?\n$/, ""));
        await sessions.save(c.session);
      },
    }),
    leaf<At>("sandbox", {
      doc: "What confines the session's tools, key=value a line: provider, profile, what is enforced and what is not.",
      deny: (principal, _, c) => foreign(principal, c),
      rights: "an agent reads that of its own session",
      read: (c) => sandbox(c.session),
    }),
  ];
}

const noAgent = (principal: Principal, file: string): string | undefined =>
  principal.kind === "agent" ? `${file}: agents may not use it` : undefined;

const foreign = (principal: Principal, c: At): string | undefined =>
  principal.kind === "agent" && principal.session !== c.session.id ? "permission denied" : undefined;

function verbs(sessions: Registry): Verbs<At> {
  const toParts = (verb: "pause" | "resume" | "invalidate") => async (c: At) => {
    await sessions.verb(c.session, verb);
    return undefined;
  };
  return {
    kill: {
      args: "",
      doc: "stop all that runs, and forget the session",
      run: async (c) => {
        await sessions.kill(c.session);
        return undefined;
      },
    },
    save: {
      args: "",
      doc: "write the snapshot and a transcript; the reply names both",
      run: (c) => save(sessions, c.session),
    },
    invalidate: { args: "", doc: "read config, tools and prompts again at the next turn", run: toParts("invalidate") },
    pause: { args: "", doc: "finish the current tools, then hold all agents", run: toParts("pause") },
    resume: { args: "", doc: "let all agents go on", run: toParts("resume") },
  };
}

async function save(sessions: Registry, session: Session): Promise<string> {
  const snapshot = await sessions.snapshot(session);
  if (snapshot === "") throw new NineError("session ctl: this server keeps sessions in memory only");
  const texts = await Promise.all(sessions.parts.map((part) => part.transcript?.(session)));
  const transcript = texts.filter((text) => text !== undefined && text !== "").join("\n");
  const written = transcript === "" ? "" : `transcript=${await writeTranscript(transcript)}\n`;
  return `snapshot=${snapshot}\n${written}`;
}

function index(sessions: Registry): string {
  const none = { state: "", cwd: "", backend: "", model: "", name: "", id: "" };
  const lines: string[][] = [];
  for (const session of sessions.list()) {
    const rows = sessions.rows(session);
    for (const row of rows.length > 0 ? rows : [none])
      lines.push([session.name, row.state, row.cwd, row.backend, row.model, row.name, session.id, row.id]);
  }
  for (const { name, id } of sessions.damaged) lines.push([name, "damaged", "", "", "", "", id, ""]);
  lines.sort(([a = ""], [b = ""]) => (a < b ? -1 : a > b ? 1 : 0));
  // a tab or newline in a field would make another field or line
  return lines.map((fields) => `${fields.map((field) => field.replace(/[\t\r\n]/g, " ")).join("\t")}\n`).join("");
}
