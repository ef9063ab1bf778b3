/** Lines that begin with a slash. Those that are not known here are prompts like any other. */

export type Command = { kind: "quit" | "help" } | { kind: "ctl"; line: string };

/** Verbs of the agent's ctl that make sense at a prompt. */
const verbs = ["stop", "resume", "model", "models", "backend", "agent", "tools", "cwd", "compact", "clear", "queue"];

export function commandOf(line: string): Command | undefined {
  const found = /^\/(\w+)(?:\s+(.*))?$/.exec(line.trim());
  if (found === null) return undefined;
  const [, verb = "", rest = ""] = found;
  if (verb === "quit" || verb === "exit") return { kind: "quit" };
  if (verb === "help") return { kind: "help" };
  return verbs.includes(verb) ? { kind: "ctl", line: `${verb} ${rest}`.trim() } : undefined;
}

export const help = `/stop           end what runs
/model [NAME]   show or change the model; /models lists them
/quit           leave (also Ctrl-D)
/help           this text
also: ${verbs
  .filter((verb) => !["stop", "model", "models"].includes(verb))
  .map((verb) => `/${verb}`)
  .join(" ")}
A line that ends in \\ goes on in the next one; pasted lines stay together. What you type while the agent works is queued.
Ctrl-C ends what runs; twice within two seconds, it leaves.
`;
