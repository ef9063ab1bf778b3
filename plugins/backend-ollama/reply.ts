/** Lines of one reply as stream events. */
import { randomUUID } from "node:crypto";
import type { Failures, StopReason, StreamEvent, Usage } from "#plugins/backends";
import { provider } from "./request.ts";
import { shortfall } from "./window.ts";

interface Line {
  error?: unknown;
  message?: {
    content?: unknown;
    thinking?: unknown;
    tool_calls?: ({ id?: unknown; function?: { name?: unknown; arguments?: unknown } } | null)[] | null;
  };
  done?: unknown;
  done_reason?: unknown;
  prompt_eval_count?: unknown;
  eval_count?: unknown;
}

export interface Reply {
  /** The events of a line. Throws BackendError where it holds an error. */
  take(line: unknown): StreamEvent[];
  /** What the end brings. Throws BackendError where no last line came. */
  end(): StreamEvent[];
  readonly over: boolean;
}

/** `sent`: characters of the request. `window`: num_ctx that was sent. */
export function reply(fail: Failures, sent: number, window: number): Reply {
  const calls: Extract<StreamEvent, { type: "call" }>[] = [];
  let thought = "";
  let last: Line | undefined;
  let received = 0;

  function call(id: unknown, name: string, args: unknown): void {
    const taken = calls.some((one) => one.id === id);
    const own = typeof id === "string" && id !== "" && !taken ? id : `call_${randomUUID()}`;
    const text = typeof args === "string" ? args : JSON.stringify(args ?? {});
    received += name.length + text.length;
    calls.push({ type: "call", id: own, name, args: text });
  }

  return {
    get over() {
      return last !== undefined;
    },
    take(value) {
      const line = (typeof value === "object" && value !== null ? value : {}) as Line;
      if (line.error) throw fail.inBand(line.error);
      const { content, thinking, tool_calls: made } = line.message ?? {};
      const events: StreamEvent[] = [];
      if (typeof thinking === "string" && thinking !== "") {
        thought += thinking;
        received += thinking.length;
        events.push({ type: "reasoning", text: thinking });
      }
      if (typeof content === "string" && content !== "") {
        received += content.length;
        events.push({ type: "text", text: content });
      }
      for (const one of Array.isArray(made) ? made : [])
        if (typeof one?.function?.name === "string") call(one.id, one.function.name, one.function.arguments);
      if (line.done === true) last = line;
      return events;
    },
    end() {
      if (!last) throw fail.broken("the stream ended without its last line");
      const reason = typeof last.done_reason === "string" ? last.done_reason : "";
      const stop = stopOf(reason, calls.length > 0);
      const events: StreamEvent[] = [];
      if (thought !== "") events.push({ type: "reasoning-block", block: { provider, text: thought } });
      const cut = stop === "length" ? calls.at(-1) : undefined;
      for (const call of calls) events.push(call === cut ? { ...call, cut: true } : call);
      const usage = usageOf(last);
      const warning = usage && shortfall(sent, usage.input, window);
      if (warning) events.push({ type: "warning", text: warning });
      // Where the prompt was cut, its count is not that of the prompt, which is what the agent goes by.
      events.push({ type: "usage", usage: usage && !warning ? usage : estimate(sent, received) });
      events.push({ type: "done", stop, ...(reason === "" ? {} : { raw: reason }) });
      return events;
    },
  };
}

function stopOf(reason: string, called: boolean): StopReason {
  if (reason === "length") return "length";
  if (called) return "tool_calls";
  return reason === "" || reason === "stop" ? "stop" : "other";
}

function usageOf({ prompt_eval_count: input, eval_count: output }: Line): Usage | undefined {
  if (typeof input !== "number" || typeof output !== "number") return undefined;
  return { input, output };
}

/** Four characters a token. */
const estimate = (sent: number, received: number): Usage => ({
  input: Math.ceil(sent / 4),
  output: Math.ceil(received / 4),
  estimated: true,
});
