/** One attempt to get a reply: the backend's events, pulled one at a time, shown as they come. */
import { setImmediate as soon } from "node:timers/promises";
import { BackendError, type Message, type ReasoningBlock, type StopReason } from "#plugins/backends";
import type { Tool } from "#plugins/tools";
import { countOf, schemasOf } from "./context.ts";
import { limits } from "./limits.ts";
import { record } from "./lines.ts";
import { watchPrefix } from "./prefix.ts";
import { info, pathOf, publish, type Runtime } from "./runtime.ts";
import { addUsage, usageText } from "./totals.ts";
import { usage as usageHook } from "./types.ts";

/** A call as the model wrote it. */
export interface RawCall {
  id: string;
  name: string;
  args: string;
  extra?: Record<string, unknown>;
  cut: boolean;
}

/** What has come so far; complete when `stop` is set. */
export interface Reply {
  readonly id: string;
  text: string;
  readonly calls: RawCall[];
  readonly reasoning: ReasoningBlock[];
  stop: StopReason | undefined;
  /** The provider's own word for it. */
  raw: string | undefined;
}

export const newReply = (id: string): Reply => ({
  id,
  text: "",
  calls: [],
  reasoning: [],
  stop: undefined,
  raw: undefined,
});

/** Fills `reply`. Throws what the backend throws; the signal's reason as soon as it aborts, whatever the backend does. */
export async function stream(
  rt: Runtime,
  reply: Reply,
  messages: readonly Message[],
  tools: readonly Tool[],
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  const schemas = schemasOf(tools);
  watchPrefix(rt, messages, schemas);
  const attempt = new AbortController();
  const stop = () => attempt.abort(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  const { idleMs } = rt.deps.options;
  const silence = setTimeout(
    () => attempt.abort(new BackendError("transient", `the model sent nothing for ${idleMs / 1000} s`)),
    idleMs,
  );
  try {
    const events = rt.provider.chatStream(messages, schemas, rt.params, attempt.signal)[Symbol.asyncIterator]();
    const pull = puller(events, attempt.signal);
    let full: Promise<void> | undefined;
    while (reply.stop === undefined) {
      const next = await pull();
      if (next.done) break;
      silence.refresh();
      const event = next.value;
      switch (event.type) {
        case "text":
          reply.text += event.text;
          rt.chat.reply(reply.id, event.text);
          // Pieces that came together would leave nobody else a turn, and who reads along would fall behind.
          await soon();
          full = rt.chat.raw.drain();
          if (full) await full;
          break;
        case "reasoning-block":
          reply.reasoning.push(event.block);
          break;
        case "call": {
          const { type: _, cut, ...call } = event;
          reply.calls.push({ ...call, cut: cut === true });
          break;
        }
        case "usage": {
          const totals = { ...rt.totals };
          addUsage(totals, event.usage);
          const counted = event.usage.estimated ? {} : { counted: countOf(rt, tools, event.usage.input) };
          void record(rt, { kind: "totals", totals, ...counted });
          rt.watch.set("usage", usageText(totals));
          rt.deps.call(usageHook, event.usage, rt.at, rt.provider.model);
          break;
        }
        case "done":
          reply.stop = event.stop;
          reply.raw = event.raw;
          finish(events, attempt);
          break;
        case "warning":
          info(rt, event.text);
          publish(rt, "warning", `E ${pathOf(rt)} ${event.text}`);
          break;
        case "reasoning":
          break;
      }
    }
  } finally {
    clearTimeout(silence);
    signal.removeEventListener("abort", stop);
    // The backend may still hold a connection open.
    if (reply.stop === undefined) attempt.abort(new Error("the reply is no longer wanted"));
  }
  if (reply.stop === undefined) throw new BackendError("transient", "the reply broke off without a finish mark");
}

/** The reply is whole: what its stream does now concerns nobody, but that it ends. Ended well, its connection is used again. */
function finish(events: AsyncIterator<unknown>, attempt: AbortController): void {
  const late = setTimeout(() => attempt.abort(new Error("the reply has ended")), limits.streamEnd).unref();
  const over = () => clearTimeout(late);
  events.next().then(over, over);
}

/** `next` that also ends when the signal aborts. One listener for all pulls: racing promises would pile up. */
function puller<T>(events: AsyncIterator<T>, signal: AbortSignal): () => Promise<IteratorResult<T>> {
  let reject: (reason: unknown) => void = () => {};
  signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  return () =>
    new Promise((resolve, fail) => {
      if (signal.aborted) return fail(signal.reason);
      reject = fail;
      events.next().then(resolve, fail);
    });
}
