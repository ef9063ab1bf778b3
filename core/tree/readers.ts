/** Readers of the kinds read, stream and blockOnce. */
import { messageOf, NineError, Rerror } from "../errors.ts";
import { lazyAbort } from "./call.ts";
import type { ReadAnswer, Reader, Site } from "./open.ts";
import type { Base } from "./scope.ts";
import { fromIterable, isSource, type Source } from "./source.ts";
import type { Text } from "./spec.ts";

export const empty = new Uint8Array(0);

/** Bytes of a handler's text; anything else is the handler's fault. */
export function bytesOf(value: unknown): Uint8Array {
  if (typeof value === "string") return Buffer.from(value, "utf8");
  if (value instanceof Uint8Array) return value;
  throw new TypeError(`gave ${value === null ? "null" : typeof value}, not text`);
}

export const slice = (data: Uint8Array, offset: number, count: number): Uint8Array =>
  offset >= data.length ? empty : data.subarray(offset, Math.min(data.length, offset + count));

/** Runs at the first read; its bytes serve this fid from then on. A write on the same fid drops them. */
export function snapshotReader(site: Site, handler: (c: Base) => Text | PromiseLike<Text>): Reader {
  let snapshot: Uint8Array | undefined;
  let waiting: { offset: number; count: number; answer: ReadAnswer }[] | undefined;
  const run = () => {
    const abort = lazyAbort();
    const list = waiting ?? [];
    const first = list[0];
    // One run serves several reads; it is cancelled when the read that caused it is.
    first?.answer.abort.onAbort(() => abort.abort());
    site.guard.run(
      site.file.owner,
      "read",
      site.node,
      site.guard.host.handlerLimit,
      () => handler(site.context(first?.answer.abort ?? abort)),
      {
        ok(value) {
          waiting = undefined;
          try {
            snapshot = bytesOf(value);
          } catch (error) {
            const failed = site.guard.errorOf(site.file.owner, "read", site.node, error);
            for (const { answer } of list) answer.fail(failed);
            return;
          }
          for (const { offset, count, answer } of list) answer.ok(slice(snapshot, offset, count));
        },
        fail(error) {
          waiting = undefined;
          for (const { answer } of list) answer.fail(error);
        },
      },
    );
  };
  return {
    read(offset, count, answer) {
      if (snapshot) return answer.ok(slice(snapshot, offset, count));
      if (waiting) return void waiting.push({ offset, count, answer });
      waiting = [{ offset, count, answer }];
      run();
    },
    length: () => snapshot?.length,
    written() {
      snapshot = undefined;
    },
    end() {},
    close() {},
  };
}

interface Wanting {
  count: number;
  answer: ReadAnswer;
}

/** Reads that wait for a source, in order. Shared by stream files and streaming replies. */
export function sourceReader(
  site: Site,
  verb: string,
): {
  attach(from: Source): void;
  read(offset: number, count: number, answer: ReadAnswer): void;
  end(cause?: Error): void;
  close(): void;
} {
  let from: Source | undefined;
  let rest: Uint8Array = empty;
  let at = 0;
  let ended = false;
  let cause: Error | undefined;
  let cancelWait: (() => void) | undefined;
  let queue: Wanting[] = [];

  /** Bytes to give, undefined: none yet, null: the end. */
  const next = (count: number): Uint8Array | undefined | null => {
    if (rest.length === 0) {
      if (cause) throw cause;
      const got = from?.take(count);
      if (got === null) return null;
      if (got === undefined) return ended ? null : undefined;
      rest = bytesOf(got);
      if (rest.length === 0) return next(count);
    }
    const data = rest.subarray(0, count);
    rest = rest.subarray(data.length);
    at += data.length;
    return data;
  };
  const serve = (want: Wanting): boolean => {
    try {
      const data = next(want.count);
      if (data === undefined) return false;
      want.answer.ok(data ?? empty);
    } catch (error) {
      want.answer.fail(site.guard.errorOf(site.file.owner, verb, site.node, error));
    }
    return true;
  };
  const pump = () => {
    cancelWait = undefined;
    while (queue.length > 0) {
      const want = queue[0] as Wanting;
      if (!serve(want)) break;
      // `serve` may have been cut short by an abort that already removed it.
      if (queue[0] === want) queue.shift();
    }
    arm();
  };
  const arm = () => {
    if (queue.length > 0 && from && !cancelWait) cancelWait = from.wait(pump);
  };
  return {
    attach(source) {
      from = source;
      pump();
    },
    read(offset, count, answer) {
      if (offset !== at && from?.seek && queue.length === 0) {
        try {
          from.seek(offset);
        } catch (error) {
          return answer.fail(new NineError(messageOf(error)));
        }
        rest = empty;
        at = offset;
      }
      const want = { count, answer };
      if (queue.length === 0 && (from || ended) && serve(want)) return;
      queue.push(want);
      answer.abort.onAbort(() => {
        queue = queue.filter((other) => other !== want);
      });
      arm();
    },
    end(why) {
      ended = true;
      cause = why;
      cancelWait?.();
      pump();
    },
    close() {
      cancelWait?.();
      from?.close();
      from = undefined;
      const left = queue;
      queue = [];
      for (const { answer } of left) answer.fail(new NineError(Rerror.clunked));
    },
  };
}

/** Subscribes at open; a flushed read loses nothing. */
export function streamReader(site: Site, handler: (c: Base) => AsyncIterable<Text> | Source): Reader {
  const reads = sourceReader(site, "stream");
  const { owner } = site.file;
  let failed: NineError | undefined;
  site.guard.run(owner, "stream", site.node, 0, () => handler(site.context(site.abort)), {
    ok: (given) => reads.attach(isSource(given) ? given : fromIterable(given)),
    fail(error) {
      failed = error;
    },
  });
  return {
    read: (offset, count, answer) => (failed ? answer.fail(failed) : reads.read(offset, count, answer)),
    length: () => undefined,
    written() {},
    end: (cause) => reads.end(cause),
    close: () => reads.close(),
  };
}

/** One answer, then EOF; a read at offset 0 asks for the next, and nothing between is lost. */
export function blockOnceReader(site: Site, handler: (c: Base, last?: Text) => Text | PromiseLike<Text>): Reader {
  let round = 0;
  let result: Uint8Array | NineError | undefined;
  let delivered = false;
  let last: Text | undefined;
  let over: { cause?: Error | undefined } | undefined;
  let queue: (Wanting & { offset: number })[] = [];

  const start = () => {
    const mine = ++round;
    result = undefined;
    delivered = false;
    const settle = (value: Uint8Array | NineError) => {
      if (mine !== round || over) return;
      result = value;
      const waiting = queue;
      queue = [];
      for (const want of waiting) serve(want);
    };
    site.guard.run(site.file.owner, "read", site.node, 0, () => handler(site.context(site.abort), last), {
      ok(value) {
        try {
          settle(bytesOf(value));
          last = value;
        } catch (error) {
          settle(site.guard.errorOf(site.file.owner, "read", site.node, error));
        }
      },
      fail: settle,
    });
  };
  const serve = ({ offset, count, answer }: Wanting & { offset: number }) => {
    if (!(result instanceof Uint8Array)) {
      delivered = true;
      return answer.fail(result as NineError);
    }
    if (offset === 0) delivered = true;
    answer.ok(slice(result, offset, count));
  };
  start();
  return {
    read(offset, count, answer) {
      if (over) return over.cause ? answer.fail(new NineError(messageOf(over.cause))) : answer.ok(empty);
      if (offset === 0 && delivered && result !== undefined) start();
      const want = { offset, count, answer };
      if (result !== undefined) return serve(want);
      queue.push(want);
      answer.abort.onAbort(() => {
        queue = queue.filter((other) => other !== want);
      });
    },
    length: () => undefined,
    written() {},
    end(cause) {
      over = { cause };
      const waiting = queue;
      queue = [];
      for (const { answer } of waiting)
        if (cause) answer.fail(new NineError(messageOf(cause)));
        else answer.ok(empty);
    },
    close() {
      round++;
      const waiting = queue;
      queue = [];
      for (const { answer } of waiting) answer.fail(new NineError(Rerror.clunked));
    },
  };
}
