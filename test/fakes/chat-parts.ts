/** Parts of a scripted Chat Completions reply: `fake.reply(text("hi"), call("shell", { command: "ls" }))`. */
import type { Act, Head } from "./wire.ts";

export type Part =
  | { part: "chunk"; chunk: unknown }
  | { part: "act"; act: Act }
  /** No end mark is added behind it. */
  | { part: "last"; act?: Act }
  | { part: "head"; head: Head }
  | { part: "oneByte" }
  | { part: "crlf" };

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
/** Bytes of the body as they are. */
export const raw = (bytes: string | Uint8Array): Part => ({
  part: "act",
  act: { do: "bytes", bytes: Buffer.from(bytes) },
});
export const wait = (ms: number): Part => ({ part: "act", act: { do: "wait", ms } });
export const gate = (open: Promise<unknown>): Part => ({ part: "act", act: { do: "gate", open } });
/** Nothing more comes until the client goes. */
export const stall = (): Part => ({ part: "last", act: { do: "stall" } });
export const reset = (): Part => ({ part: "last", act: { do: "reset" } });
/** The body ends here, with no end mark. */
export const eof = (): Part => ({ part: "last" });
export const status = (code: number, headers: Record<string, string> = {}): Part => ({
  part: "head",
  head: { status: code, headers },
});
/** One byte per write. */
export const oneByte = (): Part => ({ part: "oneByte" });
/** Lines end in CRLF. */
export const crlf = (): Part => ({ part: "crlf" });

function pieces(content: string, size: number): string[] {
  const letters = Array.from(content);
  const out: string[] = [];
  for (let at = 0; at < letters.length || at === 0; at += size) out.push(letters.slice(at, at + size).join(""));
  return out;
}

// ---- for the fake itself

export type Parts = (Part | Part[])[];

export function failure(code: number, body: string | object, headers: Record<string, string> = {}): Part[] {
  const page = typeof body === "string";
  const type = { "content-type": page && body.startsWith("<") ? "text/html" : "application/json" };
  return [status(code, { ...type, ...headers }), raw(page ? body : JSON.stringify({ error: body })), eof()];
}

export const modelList = (rows: (string | Record<string, unknown>)[]): Part[] => [
  status(200, { "content-type": "application/json" }),
  raw(JSON.stringify({ object: "list", data: rows.map((row) => (typeof row === "string" ? { id: row } : row)) })),
];

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

export function compile(parts: Part[]): { head: Head; acts: Act[]; oneByte: boolean } {
  const crlf = parts.some((part) => part.part === "crlf");
  const acts = parts.flatMap((part): Act[] => {
    if (part.part === "chunk") return [{ do: "bytes", bytes: Buffer.from(`data: ${JSON.stringify(part.chunk)}\n\n`) }];
    return part.part === "act" || part.part === "last" ? (part.act ? [part.act] : []) : [];
  });
  const lines = (act: Act): Act =>
    crlf && act.do === "bytes"
      ? { do: "bytes", bytes: Buffer.from(Buffer.from(act.bytes).toString("utf8").replaceAll("\n", "\r\n")) }
      : act;
  const head = parts.find((part) => part.part === "head");
  return {
    head: head?.part === "head" ? head.head : { status: 200, headers: { "content-type": "text/event-stream" } },
    acts: acts.map(lines),
    oneByte: parts.some((part) => part.part === "oneByte"),
  };
}
