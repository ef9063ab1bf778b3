/** Plays bytes on a real HTTP response, as rudely as a test wants: cut anywhere, late, never, torn down. No test library. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

export type Act =
  | { do: "bytes"; bytes: Uint8Array }
  /** Milliseconds of silence. */
  | { do: "wait"; ms: number }
  /** Silence until the test says so. */
  | { do: "gate"; open: Promise<unknown> }
  /** Silence until the client goes. */
  | { do: "stall" }
  /** The connection is torn down. */
  | { do: "reset" };

export interface Head {
  status: number;
  headers: Record<string, string>;
}

export interface PlayOptions {
  /** One byte per write, each in a turn of its own. */
  oneByte?: boolean;
}

/** Resolves when the response is over, or the client has gone. */
export async function play(res: ServerResponse, head: Head, acts: readonly Act[], options: PlayOptions = {}) {
  const gone = new Promise<void>((resolve) => res.once("close", resolve));
  res.socket?.setNoDelay(true);
  // A stall before anything was sent must not even send headers.
  const send = (bytes: Uint8Array) =>
    new Promise<void>((resolve) => {
      if (!res.headersSent) res.writeHead(head.status, head.headers);
      if (res.destroyed) resolve();
      else res.write(bytes, () => resolve());
    });
  for (const act of acts) {
    if (res.destroyed) return;
    if (act.do === "wait") await Promise.race([sleep(act.ms), gone]);
    else if (act.do === "gate") await Promise.race([act.open, gone]);
    else if (act.do === "stall") await gone;
    else if (act.do === "reset") {
      res.socket?.resetAndDestroy();
      return;
    } else if (options.oneByte) {
      for (const byte of act.bytes) {
        await send(Uint8Array.of(byte));
        await new Promise(setImmediate);
      }
    } else await send(act.bytes);
  }
  if (res.destroyed) return;
  if (!res.headersSent) res.writeHead(head.status, head.headers);
  await new Promise<void>((resolve) => {
    res.end(resolve);
    gone.then(resolve);
  });
}

/** A request's whole body. */
export async function bodyOf(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}
