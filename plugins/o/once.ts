/** One question, one answer: the answer alone on standard output. */
import type { Client } from "#core/client";
import { answerReader } from "./answer.ts";
import { converse } from "./conversation.ts";
import type { Place } from "./session.ts";
import { printable } from "./style.ts";

/** Gives the exit status: 0 with an answer, 1 without, 128 + n when signal n ended it. */
export async function answerOnce(
  client: Client,
  place: Place,
  question: string,
  say: (text: string) => void,
): Promise<number> {
  const reader = answerReader();
  const talk = await converse(client, place.session, place.path, (event) => {
    reader.take(event);
    if (event.kind === "begin" && event.type === "call") say(`calling ${printable(event.label)}`);
  });
  let status: number | undefined;
  const interrupt = (number: number) => () => {
    status = 128 + number;
    talk.ctl("stop").catch(() => {});
  };
  const signals = { SIGINT: interrupt(2), SIGTERM: interrupt(15), SIGHUP: interrupt(1) };
  for (const [name, handler] of Object.entries(signals)) process.on(name, handler);
  try {
    await talk.submit(question);
    const early = await Promise.race([talk.idle(), talk.ended]);
    if (typeof early === "string") throw new Error(early);
  } finally {
    for (const [name, handler] of Object.entries(signals)) process.off(name, handler);
  }
  const { text, errors } = reader.result();
  if (status !== undefined) return status;
  for (const error of errors) say(error);
  if (errors.length > 0) return 1;
  if (text === "") {
    say("the agent ended without an answer");
    return 1;
  }
  process.stdout.write(`${text}\n`);
  return 0;
}

/** All of standard input. Where nothing comes for a while, `say` tells what is waited for. */
export async function readPipe(say: (text: string) => void): Promise<string> {
  const timer = setTimeout(() => say("waiting for the end of standard input (`</dev/null` gives none)"), 3000);
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  clearTimeout(timer);
  return Buffer.concat(chunks).toString();
}
