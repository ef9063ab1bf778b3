/** Readers of the kinds read, stream and blockOnce. */
import { messageOf, NineError, Rerror } from "../errors.ts";
import { Few } from "../few.ts";
import { type Answer, lazyAbort } from "./call.ts";
import type { Vnode } from "./node.ts";
import type { ReadAnswer, Reader, Site } from "./open.ts";
import type { Base } from "./scope.ts";
import { bytesOf, fromIterable, isSource, type Source } from "./source.ts";
import type { Text } from "./spec.ts";

export const empty = new Uint8Array(0);

export function slice(data: Uint8Array, offset: number, count: number): Uint8Array {
  // Most files fit into one read, and a view costs as much as the rest of it.
  if (offset === 0 && count >= data.length) return data;
  return offset >= data.length ? empty : data.subarray(offset, Math.min(data.length, offset + count));
}

/** Up to this size the text that a file gave last is kept, so that the same again is known to be the same. */
const KEPT = 8 * 1024;

/** Bytes of a read; qid.vers moves where the read before may have given others. */
function newSnapshot({ qid }: Vnode, value: Text): Uint8Array {
  const { last } = qid;
  if (last && last.value === value) return last.bytes;
  const bytes = bytesOf(value);
  if (last !== undefined) qid.vers = (qid.vers + 1) >>> 0;
  qid.last = typeof value === "string" && bytes.length <= KEPT ? { value, bytes } : null;
  return bytes;
}

interface Wanting {
  offset: number;
  count: number;
  answer: ReadAnswer;
}

/** One run of a read handler, for all reads that came before its answer; it is cancelled when all of them are. */
class Run implements Answer<Text> {
  readonly abort = lazyAbort();
  reads: Wanting[];
  readonly #of: SnapshotReader;

  constructor(of: SnapshotReader, first: Wanting) {
    this.#of = of;
    this.reads = [first];
  }

  ok(value: Text): void {
    const { site } = this.#of;
    let bytes: Uint8Array;
    try {
      bytes = newSnapshot(site.node, value);
    } catch (error) {
      return this.fail(site.guard.errorOf(site.file.owner, "read", site.node, error));
    }
    this.#of.ran(this, bytes);
    for (const { offset, count, answer } of this.reads) answer.ok(slice(bytes, offset, count));
  }

  fail(error: NineError): void {
    this.#of.ran(this);
    for (const { answer } of this.reads) answer.fail(error);
  }

  cancel(want: Wanting): void {
    this.reads = this.reads.filter((one) => one !== want);
    if (this.reads.length > 0) return;
    this.#of.ran(this);
    this.abort.abort();
  }
}

/** Runs at the first read; its bytes serve this fid from then on. A write on the same fid drops them. */
class SnapshotReader implements Reader {
  readonly site: Site;
  readonly #handler: (c: Base) => Text | PromiseLike<Text>;
  #snapshot: Uint8Array | undefined;
  #running: Run | undefined;

  constructor(site: Site, handler: (c: Base) => Text | PromiseLike<Text>) {
    this.site = site;
    this.#handler = handler;
  }

  read(offset: number, count: number, answer: ReadAnswer): void {
    if (this.#snapshot) return answer.ok(slice(this.#snapshot, offset, count));
    const want = { offset, count, answer };
    let mine = this.#running;
    if (mine) mine.reads.push(want);
    else mine = this.#run(want);
    // Answered at once: there is nothing to cancel.
    if (mine === this.#running) answer.abort.onAbort(() => mine.cancel(want));
  }

  #run(first: Wanting): Run {
    const { site } = this;
    const mine = new Run(this, first);
    this.#running = mine;
    const limit = site.guard.host.handlerLimit;
    const handle = () => this.#handler(site.context(mine.abort));
    site.guard.run(site.file.owner, "read", site.node, limit, handle, mine, mine.abort);
    return mine;
  }

  /** A run is over. After a write meanwhile it is no longer ours: its reads came before that, later ones must not get its bytes. */
  ran(run: Run, bytes?: Uint8Array): void {
    if (run !== this.#running) return;
    this.#running = undefined;
    this.#snapshot = bytes;
  }

  length(): number | undefined {
    return this.#snapshot?.length;
  }

  written(): void {
    this.#snapshot = undefined;
    this.#running = undefined;
  }

  end(): void {}

  close(): void {}
}

export const snapshotReader = (site: Site, handler: (c: Base) => Text | PromiseLike<Text>): Reader =>
  new SnapshotReader(site, handler);

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
  const queue = new Few<Wanting>();

  /** Bytes to give, undefined: none yet, null: the end. */
  const next = (count: number): Uint8Array | undefined | null => {
    while (rest.length === 0) {
      if (cause) throw cause;
      const got = from?.take(count);
      if (got === null) return null;
      if (got === undefined) return ended ? null : undefined;
      rest = bytesOf(got);
    }
    const whole = rest.length <= count;
    const data = whole ? rest : rest.subarray(0, count);
    rest = whole ? empty : rest.subarray(count);
    at += data.length;
    return data;
  };
  const serve = (want: Wanting): boolean => {
    // What the other side has no room for stays in the source, which knows what to do with a slow reader.
    if (want.answer.room && !want.answer.room(pump)) return false;
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
    cancelWait?.();
    cancelWait = undefined;
    queue.drain(serve);
    arm();
  };
  const arm = () => {
    if (queue.size > 0 && from && !cancelWait) cancelWait = from.wait(pump);
  };
  return {
    attach(source) {
      if (closed) return source.close();
      from = source;
      pump();
    },
    read(offset, count, answer) {
      if (offset !== at && from?.seek && queue.size === 0) {
        try {
          from.seek(offset);
        } catch (error) {
          return answer.fail(new NineError(messageOf(error)));
        }
        rest = empty;
        at = offset;
      }
      const want = { offset, count, answer };
      if (queue.size === 0 && (from || ended) && serve(want)) return;
      queue.add(want);
      answer.abort.onAbort(() => queue.delete(want));
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
      queue.empty(({ answer }) => answer.fail(new NineError(Rerror.clunked)));
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
  const queue = new Few<Wanting>();

  const start = () => {
    const mine = ++round;
    result = undefined;
    delivered = false;
    const settle = (value: Uint8Array | NineError) => {
      if (mine !== round || over) return;
      result = value;
      queue.empty(serve);
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
  const serve = ({ offset, count, answer }: Wanting) => {
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
      queue.add(want);
      answer.abort.onAbort(() => queue.delete(want));
    },
    length: () => undefined,
    // A baseline written now makes an answer stale that nobody has read yet.
    written() {
      if (result !== undefined && !delivered) start();
    },
    end(cause) {
      over = { cause };
      queue.empty(({ answer }) => {
        if (cause) answer.fail(new NineError(messageOf(cause)));
        else answer.ok(empty);
      });
    },
    close() {
      round++;
      queue.empty(({ answer }) => answer.fail(new NineError(Rerror.clunked)));
    },
  };
}
