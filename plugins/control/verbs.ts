/** Verb tables: what a ctl file understands. */
import { NineError } from "#core";

/** Bytes of one line of a ctl file. */
export const CTL_LINE = 64 * 1024;

export interface Verb<C> {
  /** What may follow the verb, for people: `[models|tools|agents]`, `NAME`; empty: nothing may. */
  readonly args: string;
  readonly doc: string;
  /** Checks `arg` before any line of the request runs. Throws NineError. */
  readonly check?: (arg: string, c: C) => void;
  /** `arg` is the rest of the line, trimmed. Its text is the line's reply. */
  readonly run: (c: C, arg: string) => string | undefined | Promise<string | undefined>;
}

export type Verbs<C> = Readonly<Record<string, Verb<C>>>;

/** The table as text, a verb a line. */
export const verbHelp = (verbs: Verbs<never>): string =>
  Object.entries(verbs)
    .map(([name, { args, doc }]) => `${`${name} ${args}`.trim().padEnd(32)} ${doc}\n`)
    .join("");

/**
 * Makes the `rdwr` handler of a ctl file: one command a line, all checked before the first runs, replies joined.
 * `what` names the file in errors: `ctl: unknown verb "foo" (verbs: kill help)`. A verb `help` is added.
 */
export function ctl<C>(what: string, table: Verbs<C>): (c: C, body?: Uint8Array) => Promise<string> {
  const verbs: Verbs<C> = {
    ...table,
    help: { args: "", doc: "this list", run: () => verbHelp(verbs) },
  };
  // a Map: `constructor` and `__proto__` are not verbs
  const known = new Map(Object.entries(verbs));
  return async (c, body) => {
    if (body === undefined) return verbHelp(verbs);
    const commands = parse(what, known, new TextDecoder().decode(body));
    for (const { verb, arg } of commands) verb.check?.(arg, c);
    let reply = "";
    for (const { verb, arg } of commands) reply += (await verb.run(c, arg)) ?? "";
    return reply;
  };
}

function parse<C>(what: string, known: ReadonlyMap<string, Verb<C>>, text: string): { verb: Verb<C>; arg: string }[] {
  const commands = [];
  for (const line of text.split("\n")) {
    if (Buffer.byteLength(line) > CTL_LINE) throw new NineError(`${what}: a line is at most ${CTL_LINE} bytes`);
    const [, name = "", rest = ""] = /^\s*(\S*)\s*(.*?)\s*$/s.exec(line) ?? [];
    if (name === "") continue;
    const verb = known.get(name);
    if (!verb)
      throw new NineError(
        `${what}: unknown verb ${JSON.stringify(name.slice(0, 40))} (verbs: ${[...known.keys()].join(" ")})`,
      );
    if (verb.args === "" && rest !== "") throw new NineError(`${what}: ${name} takes no argument`);
    if (verb.args !== "" && !verb.args.startsWith("[") && rest === "")
      throw new NineError(`${what}: ${name} needs ${verb.args}`);
    commands.push({ verb, arg: rest });
  }
  if (commands.length === 0) throw new NineError(`${what}: no verb (verbs: ${[...known.keys()].join(" ")})`);
  return commands;
}
