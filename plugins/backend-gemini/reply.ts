/** Chunks of one reply as stream events. */
import { randomUUID } from "node:crypto";
import type { Failures, StopReason, StreamEvent, Usage } from "#plugins/backends";
import { blocked } from "./errors.ts";
import { type CallMarks, type Chunk, type Part, provider } from "./wire.ts";

export interface Reply {
  /** The events of a chunk. Throws BackendError where it holds an error, or says that the prompt is refused. */
  take(chunk: Chunk): StreamEvent[];
  /** Usage and `done`. Throws BackendError where the stream broke or the reply is refused. `sent`: characters of the request. */
  end(sent: number): StreamEvent[];
}

/** Reasons after which the reply stands as far as it came, but must not count as an answer. */
const refused = /^(SAFETY|RECITATION|LANGUAGE|BLOCKLIST|PROHIBITED_CONTENT|SPII|IMAGE_)/;
/** The model wrote what is no call; the next attempt most often is one. */
const garbled = /^(MALFORMED_|UNEXPECTED_TOOL_CALL|NO_IMAGE)/;

export function reply(fail: Failures): Reply {
  let finish: string | undefined;
  let words = "";
  let usage: Usage | undefined;
  let text = 0;
  let received = 0;
  const calls: Extract<StreamEvent, { type: "call" }>[] = [];

  function take(part: Partial<Part> | null): StreamEvent[] {
    const { thought, thoughtSignature: signature, functionCall } = part ?? {};
    if (functionCall && typeof functionCall.name === "string") {
      const { id, name, args } = functionCall;
      const marks: CallMarks = { ...(id ? { id } : {}), ...(signature ? { thoughtSignature: signature } : {}) };
      const json = JSON.stringify(args ?? {});
      received += json.length;
      const known = id && calls.every((call) => call.id !== id);
      const call = { id: known ? id : `call_${randomUUID()}`, name, args: json, extra: { [provider]: marks } };
      calls.push({ type: "call", ...call });
      return [{ type: "progress" }];
    }
    const piece = typeof part?.text === "string" ? part.text : "";
    received += piece.length;
    if (thought) return piece === "" ? [] : [{ type: "reasoning", text: piece }];
    const from = text;
    text += piece.length;
    const events: StreamEvent[] = piece === "" ? [] : [{ type: "text", text: piece }];
    if (signature)
      events.push({ type: "reasoning-block", block: { provider, text: "", signature, data: { from, to: text } } });
    return events;
  }

  return {
    take(chunk) {
      if (chunk.error) throw fail.inBand(chunk.error);
      const { blockReason, blockReasonMessage } = chunk.promptFeedback ?? {};
      if (blockReason) throw blocked("the prompt", blockReason, blockReasonMessage);
      usage = usageOf(chunk.usageMetadata) ?? usage;
      const candidate = chunk.candidates?.find((one) => (one.index ?? 0) === 0);
      if (candidate?.finishReason) finish = candidate.finishReason;
      words = candidate?.finishMessage ?? words;
      return (candidate?.content?.parts ?? []).flatMap(take);
    },
    end(sent) {
      if (finish === undefined) throw fail.broken("the stream ended without a finish reason");
      const said = `${finish}${words === "" ? "" : `: ${words}`}`;
      if (garbled.test(finish)) throw fail.broken(`the reply holds what is no call: ${said}`);
      const stop = stopOf(finish, calls.length > 0);
      if (stop === "content_filter" && received === 0) throw blocked("the reply", finish, words);
      const cut = stop === "length" || stop === "content_filter";
      const events: StreamEvent[] = calls.map((call, at) =>
        cut && at === calls.length - 1 ? { ...call, cut: true } : call,
      );
      events.push({ type: "usage", usage: usage ?? estimate(sent, received) });
      events.push({ type: "done", stop, raw: said });
      return events;
    },
  };
}

function stopOf(finish: string, called: boolean): StopReason {
  if (finish === "MAX_TOKENS") return "length";
  if (refused.test(finish)) return "content_filter";
  if (called) return "tool_calls";
  return finish === "STOP" ? "stop" : "other";
}

/** Thinking is counted beside the answer here; in our Usage it is part of the output. Cached tokens are part of the prompt. */
export function usageOf(raw: Record<string, unknown> | undefined): Usage | undefined {
  const number = (key: string): number => {
    const value = raw?.[key];
    return typeof value === "number" && value >= 0 ? value : 0;
  };
  if (!raw || typeof raw.promptTokenCount !== "number") return undefined;
  const reasoning = number("thoughtsTokenCount");
  const cached = number("cachedContentTokenCount");
  return {
    input: number("promptTokenCount") + number("toolUsePromptTokenCount"),
    output: number("candidatesTokenCount") + reasoning,
    ...(cached > 0 ? { cachedInput: cached } : {}),
    ...(reasoning > 0 ? { reasoning } : {}),
  };
}

/** Four characters a token. */
const estimate = (sent: number, received: number): Usage => ({
  input: Math.ceil(sent / 4),
  output: Math.ceil(received / 4),
  estimated: true,
});
