/** Plays one reply of a scenario as stream events. */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { BackendError, type Message, type StreamEvent, type ToolSchema, type Usage } from "#plugins/backends";
import { fill, fillAll, type Moment } from "./moment.ts";
import type { Reply, Scenario, Step } from "./scenario.ts";

/** Tokens of a text where nobody counted: four characters each. */
const tokens = (characters: number) => Math.ceil(characters / 4);

/** The request's size for the estimate of its usage. */
export const inputOf = (messages: readonly Message[], tools: readonly ToolSchema[]): number =>
  tokens(JSON.stringify(messages).length + (tools.length > 0 ? JSON.stringify(tools).length : 0));

/** Throws what the scenario says, or the signal's reason. Ends without `done` only after a `drop`. */
export async function* play(
  reply: Reply,
  scenario: Scenario,
  moment: Moment,
  input: number,
  signal: AbortSignal,
): AsyncGenerator<StreamEvent> {
  let said = 0;
  let called = false;
  let usage: Usage | undefined;
  let end: Step["end"];
  for (const step of reply.steps) {
    signal.throwIfAborted();
    if (step.drop) return;
    if (step.hang) await pause(2 ** 31 - 1, signal);
    if (step.delay !== undefined) await pause(step.delay, signal);
    if (step.error) {
      const { kind, message, ...more } = step.error;
      throw new BackendError(kind, fill(message, moment), defined(more));
    }
    for (const type of ["reasoning", "text"] as const) {
      const template = step[type];
      if (template === undefined) continue;
      const text = fill(template, moment);
      said += text.length;
      const every = step.every ?? scenario.every ?? 0;
      let first = true;
      for (const part of pieces(text, step.chunk ?? scenario.chunk ?? 16)) {
        if (!first && every > 0) await pause(every, signal);
        signal.throwIfAborted();
        yield { type, text: part };
        first = false;
      }
    }
    if (step.block) yield { type: "reasoning-block", block: { provider: "script", ...defined(step.block) } };
    if (step.call) {
      const { name, args = {}, id, cut } = step.call;
      const text = typeof args === "string" ? fill(args, moment) : JSON.stringify(fillAll(args, moment));
      said += name.length + text.length;
      called = true;
      yield { type: "call", id: id ?? `script-${randomUUID()}`, name, args: text, ...(cut ? { cut: true } : {}) };
    }
    if (step.usage) usage = defined(step.usage);
    if (step.end) {
      end = step.end;
      break;
    }
  }
  yield { type: "usage", usage: usage ?? { input, output: tokens(said), estimated: true } };
  yield { type: "done", stop: end ?? (called ? "tool_calls" : "stop") };
}

/** Cuts a text into pieces of `size` characters, never inside of one. */
function* pieces(text: string, size: number): Generator<string> {
  // By index: as an array of its characters a long text takes sixteen times its size.
  for (let at = 0; at < text.length; ) {
    const from = at;
    for (let n = 0; n < size && at < text.length; n++) at += (text.codePointAt(at) as number) > 0xffff ? 2 : 1;
    yield text.slice(from, at);
  }
}

/** Waits; throws the signal's own reason when it aborts. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}

type Defined<T> = { [K in keyof T]: Exclude<T[K], undefined> };
const defined = <T extends object>(value: T) =>
  Object.fromEntries(Object.entries(value).filter(([, v]) => v !== undefined)) as Defined<T>;
