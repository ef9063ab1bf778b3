/** Parts of a scripted reply that every wire has: bytes, silences, cuts, heads. No test library. */
import type { Act, Head } from "./wire.ts";

export type Part =
  /** A server-sent event; `event` is its name. */
  | { part: "chunk"; chunk: unknown; event?: string }
  | { part: "act"; act: Act }
  /** No end mark is added behind it. */
  | { part: "last"; act?: Act }
  | { part: "head"; head: Head }
  | { part: "oneByte" }
  | { part: "crlf" };

export type Parts = (Part | Part[])[];

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

export function pieces(content: string, size: number): string[] {
  const letters = Array.from(content);
  const out: string[] = [];
  for (let at = 0; at < letters.length || at === 0; at += size) out.push(letters.slice(at, at + size).join(""));
  return out;
}

/** A reply with this status. An object goes out as JSON, a text as it is. */
export function failure(code: number, body: string | object, headers: Record<string, string> = {}): Part[] {
  const page = typeof body === "string";
  const type = { "content-type": page && body.startsWith("<") ? "text/html" : "application/json" };
  return [status(code, { ...type, ...headers }), raw(page ? body : JSON.stringify(body)), eof()];
}

export const modelList = (rows: (string | Record<string, unknown>)[]): Part[] => [
  status(200, { "content-type": "application/json" }),
  raw(JSON.stringify({ object: "list", data: rows.map((row) => (typeof row === "string" ? { id: row } : row)) })),
];

export function compile(parts: Part[]): { head: Head; acts: Act[]; oneByte: boolean } {
  const crlf = parts.some((part) => part.part === "crlf");
  const acts = parts.flatMap((part): Act[] => {
    if (part.part === "chunk") {
      const name = part.event === undefined ? "" : `event: ${part.event}\n`;
      return [{ do: "bytes", bytes: Buffer.from(`${name}data: ${JSON.stringify(part.chunk)}\n\n`) }];
    }
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
