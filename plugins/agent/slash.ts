/** `/word` in a prompt: the verbs of ctl, shorter names of some, and what tells about the agent. Answers stand in chat. */
import { messageOf, NineError } from "#core";
import type { Message } from "#plugins/backends";
import type { AgentAt } from "./rights.ts";
import type { Roster } from "./roster.ts";
import { beginning, fail, info, type Runtime, runtimeOf } from "./runtime.ts";
import { mustRest } from "./settings.ts";
import { dollars, usageText } from "./totals.ts";
import { type Entry, entries } from "./verbs.ts";

const short = { i: "inject", q: "queue", sp: "systemprompt" } as const;

const telling: Record<string, Entry> = {
  context: { args: "", doc: "how full the context is, and with what", run: (rt) => begun(rt, context) },
  usage: { args: "", doc: "tokens used so far", run: (rt) => begun(rt, () => `${usageText(rt.totals)}\n`) },
  cost: {
    args: "",
    doc: "what the last turn and all of them cost",
    run: (rt) => begun(rt, () => `${dollars(rt.totals.costLast)} last turn, ${dollars(rt.totals.cost)} in all\n`),
  },
  history: { args: "", doc: "the beginning of each message", run: (rt) => begun(rt, history) },
  agents: {
    args: "",
    doc: "agent configs, the present one marked",
    run: (rt) => marked(rt.deps.configs.names(), rt.agent),
  },
  sessions: {
    args: "",
    doc: "all sessions, newest first, the present one marked",
    run: (rt) => {
      const sessions = [...rt.deps.sessions.list()].sort((a, b) => b.created - a.created);
      return marked(
        sessions.map(({ name }) => name),
        rt.session.name,
      );
    },
  },
};

const begun = <T>(rt: Runtime, text: (rt: Runtime) => T): T | string =>
  rt.history.length === 0 ? "no active session\n" : text(rt);

const marked = (names: readonly string[], present: string): string =>
  names.map((name) => `${name === present ? "* " : "  "}${name}\n`).join("") || "none\n";

const context = (rt: Runtime): Promise<string> =>
  rt.deps.histories.read(rt, (messages) =>
    [rt.watch.get("ctxsz"), ...messages.map((message) => `${sizeOf(message)} ${message.role}`)]
      .map((line) => `${line}\n`)
      .join(""),
  );

const sizeOf = (message: Message): string => String(Buffer.byteLength(JSON.stringify(message))).padStart(8);

const history = (rt: Runtime): Promise<string> =>
  rt.deps.histories.read(rt, (messages) =>
    messages.map(({ role, content }) => `${role}: ${beginning(content, 200)}\n`).join(""),
  );

function table(roster: Roster): ReadonlyMap<string, Entry> {
  const verbs = entries(roster);
  const shorter = Object.entries(short).map(([name, of]): [string, Entry] => [name, verbs[of] as Entry]);
  const all: Map<string, Entry> = new Map([...Object.entries(verbs), ...shorter, ...Object.entries(telling)]);
  return all.set("help", { args: "", doc: "this list", run: () => help(all) });
}

const help = (all: ReadonlyMap<string, Entry>): string =>
  [...all]
    .map(([name, { args, doc }]) => `${`/${name} ${args}`.trim().padEnd(24)} ${doc}\n`)
    .concat(`${"!CMD".padEnd(24)} runs a shell command; the model does not see it\n`)
    .join("");

/** What the first word of `text` asks for; undefined: it is a prompt. Several lines are one, but for a text that is given on. */
export function slashOf(roster: Roster, text: string): ((c: AgentAt) => Promise<void>) | undefined {
  const [, name = "", rest = ""] = /^\/(\w+)(?:\s+([\s\S]*))?$/.exec(text.trimEnd()) ?? [];
  const all = table(roster);
  const entry = all.get(name);
  if (!entry || (rest.includes("\n") && !entry.args.includes("TEXT"))) return undefined;
  return (c) => runEntry(c, text, name, entry, rest);
}

async function runEntry(c: AgentAt, text: string, name: string, entry: Entry, arg: string): Promise<void> {
  const rt = runtimeOf(c.agent);
  const { args, rest, run } = entry;
  rt.chat.block("user", text.trimEnd());
  try {
    if (args === "" && arg !== "") throw new NineError("takes no argument");
    if (args !== "" && !args.startsWith("[") && arg === "") throw new NineError(`needs ${args}`);
    if (rest && (arg !== "" || args === "")) mustRest(rt);
    // A change is confirmed by what is now.
    const said = (await run(rt, arg, c)) ?? (args.startsWith("[") ? await run(rt, "", c) : "done");
    if (!rt.dead) info(rt, said || "none");
  } catch (error) {
    const why = `/${name}: ${messageOf(error)}`;
    fail(rt, why);
    throw new NineError(why);
  }
}
