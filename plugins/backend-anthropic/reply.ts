/** Events of one reply as stream events. Compatible servers leave things out: only what is needed is relied on. */
import { randomUUID } from "node:crypto";
import { type Failures, isJson, type StopReason, type StreamEvent } from "#plugins/backends";
import { type Place, redacted, thought } from "./thoughts.ts";
import { estimate, merge, usageOf } from "./usage.ts";

interface Block {
  type: string;
  place: Place;
  /** Of a call. */
  id: string;
  name: string;
  /** What came whole with the start of a call. */
  input: unknown;
  /** Text of a thought, or of a call's arguments. */
  text: string;
  signature: string | undefined;
  over: boolean;
}

/** A wire event: nothing of it can be relied on. */
interface Wire {
  type?: string;
  index?: number;
  message?: { usage?: unknown; content?: unknown; stop_reason?: unknown };
  content_block?: Record<string, unknown>;
  delta?: Record<string, unknown>;
  usage?: unknown;
  error?: unknown;
}

export interface Reply {
  /** The events of a wire event. Throws BackendError where it is an error. */
  take(event: unknown): StreamEvent[];
  /** The end mark came. */
  readonly over: boolean;
  /**
   * Calls, usage and `done`. Throws BackendError `transient` where neither the end mark nor a stop reason came: the stream
   * broke. `sent`: characters of the request, for an estimate.
   */
  end(sent: number): StreamEvent[];
}

const string = (value: unknown): string => (typeof value === "string" ? value : "");

export function reply(fail: Failures): Reply {
  const blocks = new Map<number, Block>();
  const counted: Record<string, unknown> = {};
  let current = -1;
  let text = 0;
  let received = 0;
  let stop: string | undefined;
  let over = false;

  const calls = () => [...blocks.values()].filter(({ type }) => type === "tool_use");

  function say(piece: string): StreamEvent[] {
    text += piece.length;
    received += piece.length;
    return piece === "" ? [] : [{ type: "text", text: piece }];
  }

  function think(block: Block | undefined, piece: string): StreamEvent[] {
    if (block) block.text += piece;
    received += piece.length;
    return piece === "" ? [] : [{ type: "reasoning", text: piece }];
  }

  function start(index: number, given: Record<string, unknown>): StreamEvent[] {
    const block: Block = {
      type: string(given.type),
      place: { text, calls: calls().length },
      id: string(given.id),
      name: string(given.name),
      input: given.input,
      text: string(given.data),
      signature: string(given.signature) || undefined,
      over: false,
    };
    blocks.set(index, block);
    current = index;
    if (block.type === "text") return say(string(given.text));
    return block.type === "thinking" ? think(block, string(given.thinking)) : [];
  }

  function grow(index: number, delta: Record<string, unknown>): StreamEvent[] {
    const block = blocks.get(index);
    switch (delta.type) {
      case "text_delta":
        return say(string(delta.text));
      case "thinking_delta":
        return think(block, string(delta.thinking));
      case "signature_delta":
        if (block) block.signature = (block.signature ?? "") + string(delta.signature);
        return [];
      case "input_json_delta":
        if (block) block.text += string(delta.partial_json);
        received += string(delta.partial_json).length;
        return [];
      default:
        return []; // citations, and what is not known yet
    }
  }

  function finish(block: Block | undefined): StreamEvent[] {
    if (!block || block.over) return [];
    block.over = true;
    if (block.type === "redacted_thinking")
      return [{ type: "reasoning-block", block: redacted(block.text, block.place) }];
    if (block.type !== "thinking" || block.signature === undefined) return [];
    return [{ type: "reasoning-block", block: thought(block.text, block.signature, block.place) }];
  }

  return {
    get over() {
      return over;
    },
    take(value) {
      const event = (typeof value === "object" && value !== null ? value : {}) as Wire;
      const index = event.index ?? (event.type === "content_block_start" ? current + 1 : current);
      switch (event.type) {
        case "message_start":
          merge(counted, event.message?.usage);
          return [];
        case "content_block_start":
          return start(index, event.content_block ?? {});
        case "content_block_delta":
          return grow(index, event.delta ?? {});
        case "content_block_stop":
          return finish(blocks.get(index));
        case "message_delta":
          stop = string(event.delta?.stop_reason) || stop;
          merge(counted, event.usage);
          return [];
        case "message_stop":
          over = true;
          return [];
        case "error":
          throw fail.inBand(event.error ?? event);
        case "message":
          return whole(event as Record<string, unknown>);
        default:
          return []; // ping, and what is not known yet
      }
    },
    end(sent) {
      if (!over && stop === undefined) throw fail.broken("the stream ended without a finish mark");
      const out = [...blocks.values()].flatMap(finish);
      const short = stopOf(stop, false) === "length" || stop === "refusal";
      const last = [...blocks.values()].at(-1);
      const taken = new Set<string>();
      for (const block of calls()) {
        const id = block.id !== "" && !taken.has(block.id) ? block.id : `toolu_${randomUUID().replaceAll("-", "")}`;
        taken.add(id);
        const args = argsOf(block);
        const cut = short && (block === last || !isJson(args));
        out.push({ type: "call", id, name: block.name, args, ...(cut ? { cut: true } : {}) });
      }
      out.push({ type: "usage", usage: usageOf(counted) ?? estimate(sent, received) });
      out.push({ type: "done", stop: stopOf(stop, taken.size > 0), ...(stop === undefined ? {} : { raw: stop }) });
      return out;
    },
  };

  /** The whole message of a server that does not stream. */
  function whole(message: Record<string, unknown>): StreamEvent[] {
    merge(counted, message.usage);
    stop = string(message.stop_reason) || undefined;
    over = true;
    const content = Array.isArray(message.content) ? message.content : [];
    return content.flatMap((block, index) => [...start(index, block ?? {}), ...finish(blocks.get(index))]);
  }
}

/** The text as it came; else what came with the start of the call, which is `{}` where a text was to follow. */
function argsOf({ text, input }: Block): string {
  if (text !== "") return text;
  return typeof input === "object" && input !== null && Object.keys(input).length > 0 ? JSON.stringify(input) : "";
}

/** Complete calls decide, not the label; a label `tool_use` without any is passed on, for the loop to notice. */
function stopOf(reason: string | undefined, called: boolean): StopReason {
  if (reason === "max_tokens" || reason === "model_context_window_exceeded") return "length";
  if (reason === "refusal") return "content_filter";
  if (called || reason === "tool_use") return "tool_calls";
  return reason === undefined || reason === "end_turn" || reason === "stop_sequence" ? "stop" : "other";
}
