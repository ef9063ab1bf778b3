/** The body of a response: its pieces as they come, for one reader. */
import type { IncomingMessage } from "node:http";

export interface Body extends AsyncIterableIterator<Uint8Array> {
  /** The next piece, which may be all that has come. Throws what `fail` was given, or the connection's error. */
  next(): Promise<IteratorResult<Uint8Array>>;
  /** Gives the rest up: what ends within a moment leaves the connection to the next request, else it is closed. */
  return(): Promise<IteratorResult<Uint8Array>>;
  /** Ends it with `error`: of the abort, or of the limit. */
  fail(error: unknown): void;
  readonly used: boolean;
}

/** Called as a reader begins to wait and ceases to, and once when nothing more is to come. */
export interface BodyWatch {
  waits(): void;
  rests(): void;
  over(): void;
}

/** Behind an end mark there is little left: more than that is not waited for. */
const grace = { ms: 250, bytes: 64 * 1024 };

export function bodyReader(message: IncomingMessage, watch: BodyWatch): Body {
  let used = false;
  let state: "open" | "left" | "ended" | "failed" = "open";
  let reason: unknown;
  let waiter: (() => void) | undefined;

  function end(to: "ended" | "failed", error?: unknown): void {
    if (state === "ended" || state === "failed") return;
    state = to;
    reason = error;
    watch.over();
    wake();
  }

  function wake(): void {
    const waiting = waiter;
    waiter = undefined;
    waiting?.();
  }

  function take(): IteratorResult<Uint8Array> | undefined {
    if (state === "failed") throw reason;
    const piece: Buffer | null = state === "open" ? message.read() : null;
    if (piece !== null) return { done: false, value: piece };
    return state === "open" ? undefined : { done: true, value: undefined };
  }

  function leave(): void {
    state = "left";
    let left = grace.bytes;
    const drain = () => {
      for (let piece = message.read(); piece !== null; piece = message.read()) left -= piece.length;
      if (left < 0) message.destroy();
    };
    const timer = setTimeout(() => message.destroy(), grace.ms);
    message.on("close", () => clearTimeout(timer));
    message.on("readable", drain);
    drain();
  }

  message.on("readable", wake);
  message.on("end", () => end("ended"));
  message.on("error", (error) => end("failed", error));
  message.on("close", () => end("failed", new Error("the connection was closed")));

  return {
    get used() {
      return used;
    },
    async next() {
      used = true;
      let found = take();
      if (found) return found;
      watch.waits();
      while (!found) {
        await new Promise<void>((resolve) => {
          waiter = resolve;
        });
        found = take();
      }
      watch.rests();
      return found;
    },
    async return() {
      used = true;
      if (state === "open") leave();
      return { done: true, value: undefined };
    },
    fail: (error) => end("failed", error),
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
