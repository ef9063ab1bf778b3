/** Parts of a scripted Messages reply: `fake.reply(thinking("hm"), text("hi"), call("shell", { command: "ls" }))`. */
import { createHash } from "node:crypto";
import { type Part, pieces } from "./parts.ts";

export { crlf, eof, gate, oneByte, type Part, type Parts, raw, reset, stall, status, wait } from "./parts.ts";

type Event = { type: string; index?: number; [key: string]: unknown };

const event = (value: Event): Part => ({ part: "chunk", event: value.type, chunk: value });
const delta = (value: object): Part => event({ type: "content_block_delta", delta: value });
const block = (start: object, deltas: object[]): Part[] => [
  event({ type: "content_block_start", content_block: start }),
  ...deltas.map(delta),
  event({ type: "content_block_stop" }),
];

/** A wire event as it is; blocks are numbered where they are not. */
export const json = (value: Event): Part => event(value);

/** Text in deltas of `size` characters. */
export const text = (content: string, size = 5): Part[] =>
  block(
    { type: "text", text: "" },
    pieces(content, size).map((piece) => ({ type: "text_delta", text: piece })),
  );

/** The signature that a strict fake wants to see again with this thought. */
export const signatureOf = (thought: string): string =>
  createHash("sha256").update(`signed ${thought}`).digest("base64");

export const thinking = (content: string): Part[] =>
  block({ type: "thinking", thinking: "", signature: "" }, [
    ...(content === "" ? [] : pieces(content, 5).map((piece) => ({ type: "thinking_delta", thinking: piece }))),
    { type: "signature_delta", signature: signatureOf(content) },
  ]);
export const redacted = (data: string): Part[] => block({ type: "redacted_thinking", data }, []);

let serial = 0;
export interface CallOptions {
  id?: string;
  /** Characters of one fragment of the arguments; 0: no fragments at all. */
  size?: number;
  /** What comes with the start of the call. */
  input?: unknown;
}
/** A call in fragments. `args` as text goes out as it is. */
export function call(
  name: string,
  args: unknown,
  { id = `toolu_${++serial}`, size = 7, input = {} }: CallOptions = {},
) {
  const written = typeof args === "string" ? args : JSON.stringify(args);
  const deltas = size === 0 ? [] : pieces(written, size);
  return block(
    { type: "tool_use", id, name, input },
    deltas.map((piece) => ({ type: "input_json_delta", partial_json: piece })),
  );
}

export const ping = (): Part => event({ type: "ping" });
export const finish = (stop_reason: string | null, usage: object = { output_tokens: 10 }): Part =>
  event({ type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage });
/** What was counted before the reply began. */
export const begin = (usage: object = { input_tokens: 100, output_tokens: 1 }): Part =>
  event({
    type: "message_start",
    message: { id: "msg_1", type: "message", role: "assistant", content: [], stop_reason: null, usage },
  });
export const fault = (type: string, message: string): Part => event({ type: "error", error: { type, message } });

// ---- for the fake itself

const typeOf = (part: Part): string => (part.part === "chunk" ? (part.chunk as Event).type : "");

/** Adds what an orderly reply ends with. */
export function ended(parts: Part[]): Part[] {
  if (parts.some((part) => part.part === "last")) return parts;
  const end: Part[] = [];
  const calls = parts.some((part) => part.part === "chunk" && JSON.stringify(part.chunk).includes('"type":"tool_use"'));
  if (!parts.some((part) => typeOf(part) === "message_delta")) end.push(finish(calls ? "tool_use" : "end_turn"));
  return [...parts, ...end, event({ type: "message_stop" })];
}

/** Adds the start of the message where events come without one, and numbers the blocks. */
export function prepared(parts: Part[]): Part[] {
  let at = -1;
  const numbered = parts.map((part): Part => {
    if (part.part !== "chunk" || !typeOf(part).startsWith("content_block")) return part;
    if (typeOf(part) === "content_block_start") at++;
    return { ...part, chunk: { index: at, ...(part.chunk as Event) } };
  });
  const first = numbered.findIndex((part) => part.part === "chunk");
  if (first < 0 || ["message_start", "error"].includes(typeOf(numbered[first] as Part))) return numbered;
  return [...numbered.slice(0, first), begin(), ...numbered.slice(first)];
}
