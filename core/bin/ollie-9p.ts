/**
 * ollie-9p: files of a 9P server from the command line. Bundled as CommonJS, which is what starts fastest, so: no top-level
 * await, no import.meta, and nothing loaded that a plain read does not need.
 */
import { writeSync } from "node:fs";
import { type Client, connect, RemoteError } from "../ninep/client.ts";
import { lines } from "./input.ts";
import { type Job, UsageError, type Verb, verbs } from "./verbs.ts";

const USAGE = `usage: ollie-9p [-a ADDR] [-u UNAME] VERB …

Reads and writes the files of olliesrv, or of any other 9P2000 server. Paths start at the server's root: session/idx.

verbs:
${[...verbs].map(([name, verb]) => `  ${name} ${verb.usage}`).join("\n")}
  batch
  VERB --help says more of each

options:
  -a ADDR   unix!PATH, tcp!HOST!PORT or /PATH; default: ollie in $NAMESPACE, else in /tmp/ns.$USER.$DISPLAY
  -u UNAME  who speaks; default: $OLLIE_UNAME, else $USER

Exit status: 0, 1 when the server refused something (its words are on standard error), 2 for a wrong command line.
`;

const BATCH = `usage: ollie-9p [-a ADDR] [-u UNAME] batch

Runs one operation for each line of standard input, over one connection, as the lines come:

  VERB [OPTIONS] PATH [REST]

REST, as it stands behind one space, is the data of write and rdwr and the second argument of mv and wait; write without it
truncates. A line can also be a JSON array of words, for names with spaces and data with newlines:

  ["write", "session/s/agent/a/plan", "- [ ] one\\n- [ ] two\\n"]

Empty lines and lines that start with # are skipped. What the operations print follows each other on standard output. An
operation that fails is reported with its line number, the next ones run, and the exit status is that of the first failure.
`;

/** Ends a run early, with a text for standard output or error and an exit status. */
class Exit extends Error {
  readonly status: number;
  constructor(status: number, text = "") {
    super(text);
    this.status = status;
  }
}

interface Command {
  name: string;
  verb: Verb;
  args: string[];
  flags: Set<string>;
  values: Map<string, string>;
}

let status = 0;

function report(text: string, code: number): void {
  process.stderr.write(`ollie-9p: ${text}\n`);
  status ||= code;
}

/** The error with its path, unless it names the file itself (`agent/new: unknown key …`). */
const named = (path: string, message: string): string =>
  path.endsWith(message.slice(0, Math.max(0, message.indexOf(": ")) || undefined)) ? message : `${path}: ${message}`;

/** Options at the head of `words`; what is left of `words` are the arguments. */
function takeOptions(
  words: string[],
  flags: string,
  values: string,
): { flags: Set<string>; values: Map<string, string> } {
  const found = { flags: new Set<string>(), values: new Map<string, string>() };
  while (words[0]?.startsWith("-") && words[0] !== "-") {
    const word = words.shift() as string;
    if (word === "--") break;
    if (word === "--help" || word === "-h") found.flags.add("help");
    else if (values.includes(word.slice(1)) && word.length === 2) {
      const value = words.shift();
      if (value === undefined) throw new UsageError(`option ${word} needs a value`);
      found.values.set(word.slice(1), value);
    } else {
      for (const letter of word.slice(1)) {
        if (!flags.includes(letter)) throw new UsageError(`option ${word} is unknown`);
        found.flags.add(letter);
      }
    }
  }
  return found;
}

/** The verb, its options and arguments. Throws UsageError; Exit with the help where that was asked for. */
function parse(words: string[]): Command {
  const name = words.shift();
  const verb = name === undefined ? undefined : verbs.get(name);
  if (name === undefined || !verb)
    throw new UsageError(name === undefined ? "a verb is missing" : `verb ${name} is unknown`);
  const usage = `usage: ollie-9p [-a ADDR] [-u UNAME] ${name} ${verb.usage}`;
  const options = takeOptions(words, verb.flags ?? "", verb.values ?? "");
  if (options.flags.has("help")) throw new Exit(0, `${usage}\n\n${verb.help}\n`);
  if (words.length < verb.least) throw new UsageError(`${name}: an argument is missing; ${usage}`);
  if (words.length > (verb.most ?? Number.POSITIVE_INFINITY))
    throw new UsageError(`${name}: too many arguments; ${usage}`);
  return { name, verb, args: words, ...options };
}

/** Made only where descriptor 1 does not block: to make it takes longer than a read does. */
let stdout: typeof process.stdout | undefined;

async function out(data: Uint8Array | string): Promise<void> {
  let rest = typeof data === "string" ? Buffer.from(data) : data;
  while (!stdout && rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(1, rest));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") gone(error as NodeJS.ErrnoException);
      stdout = process.stdout.on("error", gone);
    }
  }
  const to = stdout;
  if (to && !to.write(rest)) await new Promise<void>((resolve) => to.once("drain", () => resolve()));
}

/** Whoever read our output has seen enough. */
function gone(error: NodeJS.ErrnoException): never {
  process.exit(error.code === "EPIPE" ? status : 1);
}

function job(client: Client, command: Command, from: () => AsyncIterable<Buffer>): Job {
  return {
    ...command,
    client,
    input: from,
    out,
    failed: (path, error) => report(named(path, (error as Error).message), 1),
  };
}

/** What is said of an error; `path` where it is about one. */
function explain(error: unknown, path: string | undefined): string {
  const { message, cause } = error as Error & { cause?: { code?: string } };
  if (error instanceof RemoteError && path !== undefined) return named(path, message);
  if (cause?.code === "ENOENT" || cause?.code === "ECONNREFUSED")
    return `${message}: start the daemon with "olliesrv start" or "npm start"`;
  return message;
}

async function* nothing(): AsyncGenerator<Buffer> {}

const input = (): AsyncIterable<Buffer> => process.stdin;

/** Words of one line of batch. */
function wordsOf(line: string): string[] {
  if (line.startsWith("[")) {
    const words: unknown = JSON.parse(line);
    if (!Array.isArray(words) || !words.every((word) => typeof word === "string"))
      throw new UsageError("a JSON line is an array of strings");
    return words;
  }
  const [, head = "", path = "", , rest] = /^(\S+(?:\s+-\S+)*)\s*(\S*)( (.*))?$/s.exec(line) ?? [];
  return [...head.split(/\s+/), ...(path ? [path] : []), ...(rest ? [rest] : [])];
}

async function batch(client: Client): Promise<void> {
  let number = 0;
  for await (const bytes of lines(input())) {
    number++;
    const line = bytes.toString().replace(/\r?\n$/, "");
    if (line.trim() === "" || line.startsWith("#")) continue;
    let path: string | undefined;
    try {
      const command = parse(wordsOf(line));
      path = command.args[0];
      const one = job(client, command, nothing);
      one.failed = (at, error) => report(`line ${number}: ${at}: ${(error as Error).message}`, 1);
      await command.verb.run(one);
    } catch (error) {
      if (!(error instanceof RemoteError || error instanceof UsageError || error instanceof SyntaxError)) throw error;
      report(`line ${number}: ${explain(error, path)}`, error instanceof RemoteError ? 1 : 2);
    }
  }
}

async function run(words: string[]): Promise<void> {
  const { flags, values } = takeOptions(words, "", "au");
  if (flags.has("help")) throw new Exit(0, USAGE);
  const isBatch = words[0] === "batch";
  if (isBatch && (words[1] === "--help" || words[1] === "-h")) throw new Exit(0, BATCH);
  if (isBatch && words.length > 1) throw new UsageError("batch: too many arguments; it reads standard input");
  const command = isBatch ? undefined : parse(words);
  const client = await connect(values.get("a"), { uname: values.get("u") });
  try {
    if (command) await command.verb.run(job(client, command, input));
    else await batch(client);
  } catch (error) {
    throw error instanceof RemoteError ? new Exit(1, explain(error, command?.args[0])) : error;
  }
}

async function settle(error: unknown): Promise<void> {
  if (error === undefined) return;
  if (error instanceof Exit && error.status === 0) await out(error.message);
  else if (error instanceof Exit) report(error.message, error.status);
  else if (error instanceof UsageError) report(`${error.message} (see ollie-9p --help)`, 2);
  else report(explain(error, undefined), 1);
}

/** Exiting ends the connection and a standard input that goes on; a write ends after all that was printed before. */
function leave(): void {
  if (stdout) stdout.write("", () => process.exit(status));
  else process.exit(status);
}

run(process.argv.slice(2))
  .then(() => settle(undefined), settle)
  .then(leave);
