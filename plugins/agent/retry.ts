/** Gets a reply, with retries of what may pass: the only layer that retries. */
import { randomUUID } from "node:crypto";
import { messageOf } from "#core";
import { BackendError, type BackendErrorKind } from "#plugins/backends";
import type { Tool } from "#plugins/tools";
import { requestOf } from "./context.ts";
import { limits } from "./limits.ts";
import { fail, pathOf, publish, type Runtime, setState } from "./runtime.ts";
import { untilStop } from "./stopping.ts";
import { newReply, type Reply, stream } from "./stream.ts";
import { type Failure, turnError } from "./types.ts";

/** The turn ends with this; it was told already. */
export class TurnFailed extends Error {}

/** The turn was stopped; `text` came before. */
export class Stopped extends Error {
  readonly text: string;
  constructor(text: string) {
    super("stopped");
    this.text = text;
  }
}

/** A complete reply. Throws TurnFailed or Stopped. */
export async function getReply(rt: Runtime, tools: readonly Tool[], signal: AbortSignal): Promise<Reply> {
  let compacted = false;
  for (let attempt = 0; ; attempt++) {
    const reply = newReply(`resp-${randomUUID().slice(0, 8)}`);
    try {
      await stream(rt, reply, await requestOf(rt), tools, signal);
      return reply;
    } catch (error) {
      if (signal.aborted) throw new Stopped(reply.text);
      const failure = failureOf(error);
      const handled = attempt === 0 && (await tellHook(rt, failure, signal));
      if (signal.aborted) throw new Stopped("");
      if (failure.kind === "overflow" && !handled && !compacted) {
        compacted = true;
        await makeRoom(rt, failure.message, signal);
        continue;
      }
      const wait = pauseFor(rt, failure, attempt);
      if (handled || typeof wait === "string") throw giveUp(rt, typeof wait === "string" ? wait : failure.message);
      await pause(rt, failure, attempt, wait, reply.text.trim() !== "", signal);
    }
  }
}

interface Fault {
  kind: BackendErrorKind | "unknown";
  message: string;
  retryAfterMs: number | undefined;
}

const failureOf = (error: unknown): Fault => ({
  kind: error instanceof BackendError ? error.kind : "unknown",
  message: messageOf(error),
  retryAfterMs: error instanceof BackendError ? error.retryAfterMs : undefined,
});

function giveUp(rt: Runtime, text: string): TurnFailed {
  fail(rt, text);
  return new TurnFailed(text);
}

/** Whether a hook took care of the failure: then there are no retries. */
async function tellHook(rt: Runtime, fault: Fault, signal: AbortSignal): Promise<boolean> {
  let handled = false;
  const failure: Failure = {
    at: rt.at,
    kind: fault.kind,
    message: fault.message,
    handled() {
      handled = true;
    },
  };
  await untilStop(rt.deps.call(turnError, failure), signal);
  return handled;
}

/** Milliseconds to wait, or the text with which the turn ends. */
function pauseFor(rt: Runtime, { kind, message, retryAfterMs }: Fault, attempt: number): number | string {
  if (kind !== "rateLimit" && kind !== "transient") return message;
  if (attempt >= limits.retries) return `${message} (after ${limits.retries} retries)`;
  if (retryAfterMs !== undefined && retryAfterMs > limits.retryAfter)
    return `${message} (the provider asks to wait ${Math.ceil(retryAfterMs / 1000)} s)`;
  const { retryBaseMs } = rt.deps.options;
  const base = retryBaseMs * 2 ** attempt * (kind === "rateLimit" ? limits.rateLimitFactor : 1);
  const backoff = base * (1 + limits.jitter * rt.deps.random());
  return retryAfterMs !== undefined && retryAfterMs >= 0 ? retryAfterMs : backoff;
}

async function pause(
  rt: Runtime,
  fault: Fault,
  attempt: number,
  wait: number,
  shown: boolean,
  signal: AbortSignal,
): Promise<void> {
  const seconds = Math.ceil(wait / 1000);
  const which = `retry ${attempt + 1} of ${limits.retries} in ${seconds} s: ${fault.message}`;
  rt.chat.block("retry", shown ? `${which}\nthe reply above is void and starts anew` : which);
  publish(rt, "error", `E ${pathOf(rt)} ${which}`);
  if (fault.kind === "rateLimit") setState(rt, "limitretry");
  try {
    for (let left = wait; left > 0; left -= 1000) {
      publish(rt, "retry", `A retry ${pathOf(rt)} ${Math.ceil(left / 1000)}`);
      await rt.deps.delay(Math.min(left, 1000), signal);
    }
  } catch {
    throw new Stopped("");
  }
  setState(rt, "thinking");
}

async function makeRoom(rt: Runtime, why: string, signal: AbortSignal): Promise<void> {
  const compactor = rt.deps.compactor();
  if (!compactor) throw giveUp(rt, `context window is full (ctl clear starts anew): ${why}`);
  setState(rt, "compacting");
  let done: { readonly value: string } | undefined;
  try {
    done = await untilStop(compactor.compact(rt.at, "overflow", signal), signal);
  } catch (error) {
    throw giveUp(rt, `context window is full: ${messageOf(error)}`);
  }
  if (!done) throw new Stopped("");
  setState(rt, "thinking");
}
