/** Readers of the kinds read, stream and blockOnce. */
import { messageOf, NineError, Rerror } from "../errors.ts";
import { lazyAbort } from "./call.ts";
import type { ReadAnswer, Reader, Site } from "./open.ts";
import type { Base } from "./scope.ts";
import { bytesOf, fromIterable, isSource, type Source } from "./source.ts";
import type { Text } from "./spec.ts";

export const empty = new Uint8Array(0);

export const slice = (data: Uint8Array, offset: number, count: number): Uint8Array =>
  offset >= data.length ? empty : data.subarray(offset, Math.min(data.length, offset + count));

/** Up to this size what a file gave last is kept, so that the same again is known to be the same. */
const KEPT = 8 * 1024;

/** Bytes of a read; qid.vers moves where they differ from those of the read before, by whomever. */
function bytesAndVers({ qid }: Vnode, value: Text): Uint8Array {
  const { last } = qid;
  if (last?.value === value && typeof value === "string") return last.bytes;
  const bytes = bytesOf(value);
  const same = last !== undefined && Buffer.compare(last.bytes, bytes) === 0;
  if (same) return last.bytes;
  if (qid.read) qid.vers = (qid.vers + 1) >>> 0;
  qid.read = true;
  qid.last = bytes.length <= KEPT && typeof value === "string" ? { value, bytes } : undefined;
  return bytes;
}

/** Runs at the first read; its bytes serve this fid from then on. A write on the same fid drops them. */
export function snapshotReader(site: Site, handler: (c: Base) => Text | PromiseLike<Text>): Reader {
  const { owner } = site.file;
  const { guard, node } = site;
  let snapshot: Uint8Array | undefined;
  /** Reads that wait for a run of the handler. */
  let waiting: Set<Wanting & { offset: number }> | undefined;
  /** A run that a write has overtaken gives nothing to later reads. */
  let round = 0;

  const run = (first: Wanting & { offset: number }) => {
    const mine = ++round;
    const abort = lazyAbort();
    const reads = new Set([first]);
    waiting = reads;
    guard.run(owner, "read", node, guard.host.handlerLimit, () => handler(site.context(abort)), {
      ok(value) {
        let bytes: Uint8Array;
        try {
          bytes = bytesAndVers(node, value);
        } catch (error) {
          return this.fail(guard.errorOf(owner, "read", node, error));
        }
        if (mine === round) {
          waiting = undefined;
          snapshot = bytes;
        }
        for (const { offset, count, answer } of reads) answer.ok(slice(bytes, offset, count));
      },
      fail(error) {
        if (mine === round) waiting = undefined;
        for (const { answer } of reads) answer.fail(error);
      },
    });
    return abort;
  };
  return { run, snapshot } as never;
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
  let closed = false;
  let cause: Error | undefined;
  let cancelWait: (() => void) | undefined;
  let queue: Wanting[] = [];

  /** Bytes to give, undefined: none yet, null: the end. */
  const next = (count: number): Uint8Array | undefined | null => {
    while (rest.length === 0) {
      if (cause) throw cause;
      const got = from?.take(count);
      if (got === null) return null;
      if (got === undefined) return ended ? null : undefined;
      rest = bytesOf(got);
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
      if (closed) return source.close();
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
      closed = true;
      cancelWait?.();
      from?.close();
      from = undefined;
      const left = queue;
      queue = [];
      for (const { answer } of left) answer.fail(new NineError(Rerror.clunked));
    },
  };
}

/** Enters the plugin whose file it is. */
export const runOf =
  ({ guard, file }: Site) =>
  <T>(fn: () => T): T =>
    guard.host.runAs(file.owner.name, fn);

/** Subscribes at open; a flushed read loses nothing. */
export function streamReader(site: Site, handler: (c: Base) => AsyncIterable<Text> | Source): Reader {
  const reads = sourceReader(site, "stream");
  const { owner } = site.file;
  site.guard.run(owner, "stream", site.node, 0, () => handler(site.context(site.abort)), {
    ok(given) {
      try {
        reads.attach(isSource(given) ? given : fromIterable(given, runOf(site)));
      } catch (error) {
        reads.end(site.guard.errorOf(owner, "stream", site.node, error));
      }
    },
    fail: (error) => reads.end(error),
  });
  return {
    read: (offset, count, answer) => reads.read(offset, count, answer),
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
