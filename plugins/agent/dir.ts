/** session/{name}/agent/: `new`, and a directory for each agent. */
import { type Dir, dir, each, leaf, type Principal } from "#core";
import { parseKeys } from "#plugins/sessions";
import { wishKeys } from "./create.ts";
import { agentFiles } from "./files.ts";
import { type SessionAt, who } from "./rights.ts";
import type { Roster } from "./roster.ts";
import { runtimeOf } from "./runtime.ts";
import { PerAgent } from "./types.ts";

const usage = `${wishKeys.map((key) => `${key}=`).join("\n")}\n`;

export function agentDir(roster: Roster): Dir<SessionAt> {
  return dir<SessionAt>(
    "agent",
    { doc: "The session's agents, a directory each, by name; a walk also takes the UUID." },
    leaf<SessionAt>("new", {
      mode: 0o666,
      doc: "Write cwd=DIR [backend=] [model=] [agent=CONFIG] [name=]; then read id= and name= of the new agent.",
      deny: (principal, _op, c) =>
        stranger(principal, c)
          ? "agent/new: permission denied: agents of this session and its creator only"
          : undefined,
      rights: "agents of the session and its creator; cwd has to lie in theirs",
      async rdwr(c, body) {
        if (body === undefined) return usage;
        const values = parseKeys(new TextDecoder().decode(body), wishKeys, "agent/new");
        const rt = await roster.create(c.session, Object.fromEntries(values), c.principal);
        return `id=${rt.id}\nname=${rt.name}\n`;
      },
    }),
    each(
      PerAgent,
      {
        doc: "One agent: rm kills it, mv renames it.",
        list: (c) => roster.list(c.session).map((rt) => rt.face),
        get: (c, name) => roster.get(c.session, name)?.face,
        name: (agent) => agent.name,
        uid: (agent) => agent.id,
        rename: (agent, name) => roster.rename(runtimeOf(agent), name),
        remove: (agent) => roster.kill(runtimeOf(agent)),
        deny(principal, op, agent) {
          const is = who(principal, runtimeOf(agent));
          if (is === "user" || (is === "creator" && op === "remove") || (is === "self" && op === "rename"))
            return undefined;
          return `agent: permission denied: this agent may not ${op} it`;
        },
      },
      ...agentFiles(roster),
    ),
  );
}

const stranger = ({ kind, agent, session }: Principal, c: SessionAt): boolean =>
  kind === "agent" && session !== c.session.id && (agent === undefined || agent !== c.session.creator?.agent);
