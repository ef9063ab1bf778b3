/** `o start`, which is `npm start`: from nothing to a prompt in this folder. */
import { fstatSync } from "node:fs";
import { createInterface } from "node:readline/promises";
import type { Client } from "#core/client";
import { type StartOptions, startOptions, usage } from "./args.ts";
import { reachDaemon } from "./daemon.ts";
import { backendLine, sandboxNotice, unseenSettings } from "./notice.ts";
import { answerOnce, readPipe } from "./once.ts";
import { repl } from "./repl.ts";
import { findSession, makeSession, type Place } from "./session.ts";
import { styleFor } from "./style.ts";

const style = styleFor(process.stderr);
const say = (text: string): void => {
  process.stderr.write(style.dim(`ollie: ${text}\n`));
};

/** Gives the exit status. Throws Error with a sentence for the person. */
export async function start(argv: readonly string[]): Promise<number> {
  const options = startOptions(argv);
  if (options.help) {
    process.stdout.write(usage);
    return 0;
  }
  const question = await wholeQuestion(options);
  if (question?.trim() === "") throw new Error("nothing was asked: give a question, or text on standard input");
  const { client, ranBefore } = await reachDaemon(
    say,
    options.unsandboxed ? { ...process.env, OLLIE_ISOLATION: "none" } : process.env,
  );
  try {
    const place = await placeFor(client, options);
    let keep = options.session !== undefined;
    try {
      say(await backendLine(client, place, options));
      const unseen = unseenSettings(place, ranBefore, process.env);
      if (unseen !== undefined) say(unseen);
      if (!(await mayRun(client, place, options, question === undefined))) return 1;
      if (question !== undefined) return await answerOnce(client, place, question, say);
      const talked = await repl(client, place);
      keep ||= talked;
      if (talked) say(`session ${place.session} stays: npm start -- --session ${place.session}`);
      return 0;
    } finally {
      if (!keep) await client.remove(`session/${place.session}`).catch(() => {});
    }
  } finally {
    await client.close();
  }
}

/** What to answer once: the arguments, what comes through a pipe, or both. Undefined: a conversation. */
async function wholeQuestion(options: StartOptions): Promise<string | undefined> {
  const stdin = fstatSync(0);
  // A program that runs us may leave its end of a socket open for ever: with a question that is not waited for.
  const piped = stdin.isFIFO() || stdin.isFile() || (stdin.isSocket() && options.question === undefined);
  if (!piped) {
    if (options.question === undefined && !process.stdin.isTTY) return "";
    return options.question;
  }
  const text = await readPipe(say);
  return options.question === undefined
    ? text
    : text.trim() === ""
      ? options.question
      : `${options.question}\n\n${text}`;
}

function placeFor(client: Client, options: StartOptions): Promise<Place> {
  if (options.session !== undefined) return findSession(client, options.session);
  return makeSession(client, process.cwd(), options);
}

/** Says what fences tools in, and where nothing does, asks if a model decides what they do. */
async function mayRun(client: Client, place: Place, options: StartOptions, canAsk: boolean): Promise<boolean> {
  const { line, off } = await sandboxNotice(client, place);
  say(line);
  if (options.unsandboxed && !off)
    say("--unsandboxed changes nothing: this daemon runs with a sandbox (olliesrv stop ends it)");
  if (!off) return true;
  if (options.unsandboxed || place.backend === "script") return true;
  if (!canAsk) throw new Error("nobody is here to ask whether tools may run without a sandbox: say --unsandboxed");
  const asked = createInterface({ input: process.stdin, output: process.stderr });
  try {
    // Ctrl-C and Ctrl-D close it, and then the question is never answered.
    const closed = new Promise<string>((resolve) => asked.once("close", () => resolve("")));
    const answer = await Promise.race([asked.question("Go on? [y/N] "), closed]);
    if (answer === "") process.stderr.write("\n");
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    asked.close();
  }
}
