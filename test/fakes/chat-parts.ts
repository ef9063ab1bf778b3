/** Parts of a scripted Chat Completions reply: `fake.reply(text("hi"), call("shell", { command: "ls" }))`. */
import { type Part, pieces, raw } from "./parts.ts";

export { compile, crlf, eof, gate, oneByte, type Part, type Parts, raw, reset, stall, status, wait } from "./parts.ts";

const chunk = (chunk: unknown): Part => ({ part: "chunk", chunk });
const choice = (delta: unknown, finish: string | null = null) =>
  chunk({ object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: finish }] });

/** Text in deltas of `size` characters. */
export const text = (content: string, size = 5): Part[] =>
  pieces(content, size).map((content) => choice({ role: "assistant", content }));
export const reasoning = (content: string, field = "reasoning_content"): Part[] =>
  pieces(content, 5).map((piece) => choice({ [field]: piece }));

let serial = 0;
export interface CallOptions {
  id?: string;
  /** Default: 0. `none` leaves the key out. */
  index?: number | "none";
  /** Characters of one fragment of the arguments. */
  size?: number;
}
/** A call in fragments. `args` as text goes out as it is. */
export function call(name: string, args: unknown, options: CallOptions = {}): Part[] {
  const id = options.id ?? `call_${++serial}`;
  const index = options.index === "none" ? {} : { index: options.index ?? 0 };
  const [first = "", ...more] = pieces(typeof args === "string" ? args : JSON.stringify(args), options.size ?? 7);
  return [
    choice({ tool_calls: [{ ...index, id, type: "function", function: { name, arguments: first } }] }),
    ...more.map((piece) => choice({ tool_calls: [{ ...index, function: { arguments: piece } }] })),
  ];
}
/** A chunk as it is. */
export const json = (value: unknown): Part => chunk(value);
export const delta = (value: unknown, finish?: string | null): Part => choice(value, finish);
export const finish = (reason: string | null): Part => choice({}, reason);
export const usage = (prompt: number, completion: number, more: object = {}): Part =>
  chunk({ choices: [], usage: { prompt_tokens: prompt, completion_tokens: completion, ...more } });
/** Adds what an orderly reply ends with. */
export function ended(parts: Part[]): Part[] {
  if (parts.some((part) => part.part === "last")) return parts;
  const chunks = parts.flatMap((part) => (part.part === "chunk" ? [JSON.stringify(part.chunk)] : []));
  const has = (mark: RegExp) => chunks.some((chunk) => mark.test(chunk));
  const end: Part[] = [];
  if (!has(/"finish_reason":"/)) end.push(finish(has(/"tool_calls":/) ? "tool_calls" : "stop"));
  if (!has(/"usage":\{/)) end.push(usage(100, 10));
  return [...parts, ...end, raw("data: [DONE]\n\n")];
}
