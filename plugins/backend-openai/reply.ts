/** Chunks of one reply as stream events. Servers differ in all that is optional here: nothing of a chunk is relied on. */
import { type Failures, isJson, type StopReason, type StreamEvent, type Usage } from "#plugins/backends";
import { type CallFragment, callAssembler } from "./calls.ts";
import { reasoningDetails } from "./reasoning.ts";
import { estimate, usageOf } from "./usage.ts";

interface Delta {
  content?: unknown;
  refusal?: unknown;
  reasoning?: unknown;
  reasoning_content?: unknown;
  reasoning_details?: unknown;
  tool_calls?: CallFragment[] | null;
}

interface Chunk {
  object?: string;
  error?: unknown;
  choices?: ({
    index?: number;
    delta?: Delta;
    message?: Delta;
    finish_reason?: string | null;
    error?: unknown;
  } | null)[];
}

export interface Reply {
  /** The events of a chunk. Throws BackendError where it holds an error. */
  take(chunk: unknown): StreamEvent[];
  /**
   * Calls, usage and `done`. `marked`: the stream's own end mark came. Throws BackendError `transient` where neither it
   * nor a finish reason did: the stream broke. `sent`: characters of the request, asked where the provider did not count.
   */
  end(marked: boolean, sent: () => number): StreamEvent[];
}

/** `routed`: the model that a router was asked for; its marks on reasoning are kept, to be sent back. */
export function reply(fail: Failures, routed?: string): Reply {
  const details = reasoningDetails();
  const calls = callAssembler();
  let finish: string | undefined;
  let usage: Usage | undefined;
  let received = 0;

  return {
    take(value) {
      const chunk = (typeof value === "object" && value !== null ? value : {}) as Chunk;
      if (chunk.error || chunk.object === "error") throw fail.inBand(chunk.error || chunk);
      usage = usageOf(chunk) ?? usage;
      const choice = Array.isArray(chunk.choices) ? chunk.choices.find((c) => (c?.index ?? 0) === 0) : undefined;
      if (!choice) return []; // a usage chunk, or a filler in mid stream
      if (choice.error || choice.finish_reason === "error")
        throw fail.inBand(choice.error || { message: "the provider ended the reply with an error" });
      if (choice.finish_reason) finish = choice.finish_reason;
      const delta = choice.delta ?? choice.message; // a server that does not stream sends one message
      if (!delta) return [];
      const events: StreamEvent[] = [];
      const thought = plain(delta.reasoning) || plain(delta.reasoning_content) || thinking(delta.content);
      if (thought !== "") events.push({ type: "reasoning", text: thought });
      const text = plain(delta.content) + plain(delta.refusal);
      if (text !== "") events.push({ type: "text", text });
      received += thought.length + text.length;
      if (routed !== undefined) details.add(delta.reasoning_details);
      for (const fragment of delta.tool_calls ?? []) calls.add(fragment);
      return events;
    },
    end(marked, sent) {
      if (!marked && finish === undefined) throw fail.broken("the stream ended without a finish mark");
      const events: StreamEvent[] = [];
      const block = routed === undefined ? undefined : details.block(routed);
      if (block) events.push({ type: "reasoning-block", block });
      const calling = events.length;
      const short = finish === "length" || finish === "max_tokens" || finish === "content_filter";
      for (const { last, ...call } of calls.calls()) {
        const cut = short && (last || !isJson(call.args));
        events.push({ type: "call", ...call, ...(cut ? { cut: true } : {}) });
        received += call.name.length + call.args.length;
      }
      const stop = stopOf(finish, events.length > calling);
      events.push({ type: "usage", usage: usage ?? estimate(sent(), received) });
      events.push({ type: "done", stop, ...(finish === undefined ? {} : { raw: finish }) });
      return events;
    },
  };
}

/** Complete calls decide, not the label; a label `tool_calls` without any is passed on, for the loop to notice. */
function stopOf(finish: string | undefined, called: boolean): StopReason {
  if (finish === "length" || finish === "max_tokens") return "length";
  if (finish === "content_filter") return "content_filter";
  if (called || finish === "tool_calls" || finish === "function_call") return "tool_calls";
  return finish === undefined || finish === "stop" || finish === "eos" || finish === "end_turn" ? "stop" : "other";
}

type Part = { type?: string; text?: unknown; thinking?: unknown };

/** Text of a content that is a string, or a list of parts as some servers send. */
function plain(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((part: Part) => (part?.type === "text" && typeof part.text === "string" ? part.text : ""))
    .join("");
}

/** The thinking parts of such a list. */
function thinking(content: unknown): string {
  if (!Array.isArray(content)) return "";
  return content.map((part: Part) => (part?.type === "thinking" ? plain(part.thinking) : "")).join("");
}
