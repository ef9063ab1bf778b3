/** The body of a response: its pieces as they come, for one reader. */

export interface Body extends AsyncIterableIterator<Uint8Array> {
  /** The next piece, of what has come, at most 64 KB where it came in smaller ones. Throws what `fail` was given, behind what came before. */
  next(): Promise<IteratorResult<Uint8Array>>;
  /** Gives the rest up: what ends within a moment leaves the connection to the next request, else it is closed. */
  return(): Promise<IteratorResult<Uint8Array>>;
  push(piece: Uint8Array): void;
  end(): void;
  /** Ends it with `error`: of the connection, of the abort, or of the limit. */
  fail(error: unknown): void;
  /** What has come and was not read is not given any more. */
  drop(): void;
  readonly used: boolean;
}

/** Called as a reader begins to wait and ceases to, and once when nothing more is to come. */
export interface BodyWatch {
  waits(): void;
  rests(): void;
  over(): void;
}

/** What pieces come from. */
export interface Flow {
  pause(): void;
  resume(): void;
}

/** Behind an end mark there is little left: more than that is not waited for. */
const grace = { ms: 250, bytes: 64 * 1024 };

/** Bytes that may wait for a reader before no more are read from the connection. */
const most = 256 * 1024;

/** Bytes that a reader gets at once. V8 allocates texts over 128 KB one by one, which costs more than to read them twice as often. */
const together = 64 * 1024;

/** `close` closes the connection. */
export function bodyReader(flow: Flow, watch: BodyWatch, close: () => void): Body {
  let used = false;
  let state: "open" | "left" | "ended" | "failed" = "open";
  let reason: unknown;
  let waiter: (() => void) | undefined;
  let pieces: Uint8Array[] = [];
  let size = 0;
  let paused = false;
  let late: NodeJS.Timeout | undefined;

  function over(to: "ended" | "failed", error?: unknown): void {
    if (state === "ended" || state === "failed") return;
    state = to;
    reason = error;
    clearTimeout(late);
    watch.over();
    wake();
  }

  function wake(): void {
    const waiting = waiter;
    waiter = undefined;
    waiting?.();
  }

  /** Many small pieces as one: what reads it works once for them all. */
  function take(): IteratorResult<Uint8Array> | undefined {
    if (pieces.length > 0) {
      const some = pieces.splice(0, countOf(pieces));
      const value = some.length === 1 ? (some[0] as Uint8Array) : Buffer.concat(some);
      size -= value.length;
      if (paused && size < most / 2) {
        // More may come before it returns.
        paused = false;
        flow.resume();
      }
      return { done: false, value };
    }
    if (state === "failed") throw reason;
    return state === "open" ? undefined : { done: true, value: undefined };
  }

  return {
    get used() {
      return used;
    },
    push(piece) {
      size += piece.length;
      if (state === "open") {
        pieces.push(piece);
        if (size > most && !paused) {
          paused = true;
          flow.pause();
        }
        wake();
      } else if (size > grace.bytes) close();
    },
    end() {
      paused = false;
      over("ended");
    },
    fail: (error) => over("failed", error),
    drop() {
      pieces = [];
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
      if (state === "open") {
        state = "left";
        pieces = [];
        // So where it was paused.
        if (size > grace.bytes) close();
        else late = setTimeout(close, grace.ms);
      }
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/** How many of them are given together: at least one. */
function countOf(pieces: readonly Uint8Array[]): number {
  let bytes = 0;
  const end = pieces.findIndex((piece) => {
    bytes += piece.length;
    return bytes > together;
  });
  return end < 0 ? pieces.length : Math.max(end, 1);
}
