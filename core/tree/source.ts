/**
 * Where blocking reads get their bytes. A stream handler gives a Source or an AsyncIterable; the state machine of
 * modes.ts knows Sources only, so waking a reader costs one callback and no promise.
 */
import { Few } from "../few.ts";
import type { Text } from "./spec.ts";

const mark = Symbol("source");

export interface Source {
  readonly [mark]: true;
  /** What is there now, at most about `max` bytes; undefined: nothing yet; null: the end. */
  take(max: number): Text | undefined | null;
  /** Calls `wake` once, when `take` may give something or has ended. Returns its undo. */
  wait(wake: () => void): () => void;
  /** Goes on at byte `offset` (a log): called when a read's offset is not where the last one ended. Without it, offsets are ignored. */
  seek?(offset: number): void;
  /** The reader is gone. */
  close(): void;
}

/** Makes a Source of its three functions. */
export const source = (impl: Omit<Source, typeof mark>): Source => Object.assign(impl, { [mark]: true as const });

export const isSource = (value: unknown): value is Source =>
  typeof value === "object" && value !== null && mark in value;

/** Wakes of readers that wait for one thing; each is called once and forgotten. */
export interface Waiters {
  add(wake: () => void): () => void;
  wakeAll(): void;
  readonly size: number;
}

export function waiters(): Waiters {
  const waiting = new Few<() => void>();
  /** Moves with each wake-up: an undo from before must not take away what was added since. */
  let round = 0;
  return {
    add(wake) {
      const mine = round;
      waiting.add(wake);
      return () => {
        if (mine === round) waiting.delete(wake);
      };
    },
    wakeAll() {
      round++;
      waiting.empty(call);
    },
    get size() {
      return waiting.size;
    },
  };
}

function call(wake: () => void): void {
  try {
    wake();
  } catch (error) {
    // Neither the writer's fault nor a reason to leave the others asleep: it becomes a late error of its own.
    queueMicrotask(() => {
      throw error;
    });
  }
}

/** One piece, then the end. */
export function fromText(data: Text): Source {
  let left: Text | null = data;
  return source({
    take() {
      const item = left;
      left = null;
      return item;
    },
    wait: () => () => {},
    close() {
      left = null;
    },
  });
}

/** Up to this length the last text is kept with its bytes. */
const KEPT = 8 * 1024;
let last = { text: "", bytes: Buffer.alloc(0) };

/** Bytes of a handler's text; anything else is the handler's fault. Not to be written to: all readers of a line share them. */
export function bytesOf(value: unknown): Uint8Array {
  if (typeof value === "string") {
    if (value === last.text) return last.bytes;
    const bytes = Buffer.from(value, "utf8");
    if (value.length <= KEPT) last = { text: value, bytes };
    return bytes;
  }
  if (value instanceof Uint8Array) return value;
  throw new TypeError(`gave ${value === null ? "null" : typeof value}, not text`);
}

/** Called when the replies of this turn of the event loop have left. */
let behind: (() => void)[] = [];
function afterReplies(act: () => void): void {
  if (behind.push(act) > 1) return;
  setImmediate(() => {
    const all = behind;
    behind = [];
    for (const one of all) one();
  });
}

/**
 * Pulls an AsyncIterable one item ahead: it has subscribed when this returns, and no more than one item is held. The next is
 * asked for when a read waits for it, or else once the reply with the one before has left: what a generator does between two
 * items is half of what a wake-up costs. `run` enters the plugin whose code it is.
 */
export function fromIterable(iterable: AsyncIterable<Text>, run: <T>(fn: () => T) => T = (fn) => fn()): Source {
  const iterator = run(() => iterable[Symbol.asyncIterator]());
  const woken = waiters();
  let item: Text | undefined;
  let state: "pulling" | "ready" | "taken" | "ended" | "closed" = "pulling";
  let error: unknown;
  let failed = false;
  const settle = (now: "ready" | "ended") => {
    if (state !== "closed") state = now;
    woken.wakeAll();
  };
  const giveBack = () => Promise.resolve(run(() => iterator.return?.())).catch(() => {});
  const broke = (cause: unknown) => {
    error = cause;
    failed = true;
    settle("ended");
    void giveBack();
  };
  const took = (result: IteratorResult<Text>) => {
    let done: boolean;
    try {
      done = Boolean(result.done);
      if (!done) item = bytesOf(result.value);
    } catch (cause) {
      return broke(cause);
    }
    settle(done ? "ended" : "ready");
  };
  const next = () => iterator.next();
  const pull = () => {
    state = "pulling";
    try {
      // `next` of foreign make may give what is no promise.
      Promise.resolve(run(next)).then(took, broke);
    } catch (cause) {
      broke(cause);
    }
  };
  const goOn = () => {
    if (state === "taken") pull();
  };
  pull();
  return source({
    take() {
      if (state === "ready") {
        const got = item;
        item = undefined;
        state = "taken";
        afterReplies(goOn);
        return got;
      }
      if (state === "pulling" || state === "taken") return undefined;
      if (failed && state === "ended") {
        state = "closed";
        throw error;
      }
      return null;
    },
    wait(wake) {
      const undo = woken.add(wake);
      goOn();
      return undo;
    },
    close() {
      if (state === "closed") return;
      const settled = state === "ended";
      state = "closed";
      if (!settled) void giveBack();
    },
  });
}

const ended = { value: undefined, done: true } as const;

export interface Bus {
  /** Gives `text` to every reader that is subscribed now. */
  publish(text: Text): void;
  /** Every reader gets its end after what is queued. */
  end(): void;
  /**
   * A cursor from now on; usable as a stream handler's result and in `for await`. A generator that loops over it has to give
   * its `c.signal`: what waits inside of a generator can not be ended from outside.
   */
  subscribe(signal?: AbortSignal): Source & AsyncIterable<Text>;
  readonly size: number;
}

/**
 * One writer, many readers, each with a queue of its own of at most `limit` bytes (default 1 MiB). A reader that falls
 * behind loses its queue and gets `lost` (default: its end) in place of it.
 */
export function bus(options: { limit?: number; lost?: Text } = {}): Bus {
  const limit = options.limit ?? 1 << 20;
  interface Reader {
    /** What it gets next. Where readers keep up this is all there is: an array that comes and goes takes 150 bytes each time. */
    next: Text | undefined;
    /** What comes behind that, from `head` on. */
    queue: Text[];
    head: number;
    bytes: number;
    ended: boolean;
    wakes: Waiters;
  }
  const readers = new Set<Reader>();
  const fill = (reader: Reader, next: Text | undefined) => {
    reader.next = next;
    reader.queue = [];
    reader.head = 0;
    reader.bytes = next?.length ?? 0;
  };
  const put = (reader: Reader, item: Text) => {
    if (reader.next === undefined) reader.next = item;
    else reader.queue.push(item);
    reader.bytes += item.length;
    if (reader.bytes > limit) {
      fill(reader, options.lost);
      reader.ended = options.lost === undefined;
    }
    reader.wakes.wakeAll();
  };
  const takeFrom = (reader: Reader): Text | undefined | null => {
    const item = reader.next;
    if (item === undefined) return reader.ended ? null : undefined;
    reader.bytes -= item.length;
    reader.next = undefined;
    if (reader.queue.length === 0) return item;
    reader.next = reader.queue[reader.head++];
    // Taken one by one from the front, a long array would be moved as often.
    if (reader.head * 2 >= reader.queue.length) {
      reader.queue = reader.queue.slice(reader.head);
      reader.head = 0;
    }
    return item;
  };
  /** By hand: an async generator makes three promises more for each item. */
  const iterate = (reader: Reader, close: () => void): AsyncIterator<Text> => {
    type Resolve = (result: IteratorResult<Text>) => void;
    const waiting = new Few<Resolve>();
    const serve = (resolve: Resolve): boolean => {
      const item = takeFrom(reader);
      if (item === undefined) reader.wakes.add(look);
      else if (item !== null) resolve({ value: item, done: false });
      else {
        close();
        resolve(ended);
      }
      return item !== undefined;
    };
    const look = () => waiting.drain(serve);
    const begin = (resolve: Resolve) => {
      waiting.add(resolve);
      look();
    };
    return {
      next: () => new Promise(begin),
      async return() {
        close();
        return ended;
      },
    };
  };
  return {
    publish(item) {
      for (const reader of readers) if (!reader.ended) put(reader, item);
    },
    end() {
      for (const reader of readers) {
        reader.ended = true;
        reader.wakes.wakeAll();
      }
      readers.clear();
    },
    subscribe(signal) {
      const reader: Reader = { next: undefined, queue: [], head: 0, bytes: 0, ended: false, wakes: waiters() };
      readers.add(reader);
      const close = () => {
        readers.delete(reader);
        reader.ended = true;
        fill(reader, undefined);
        reader.wakes.wakeAll();
        signal?.removeEventListener("abort", close);
      };
      signal?.addEventListener("abort", close);
      if (signal?.aborted) close();
      const from = source({
        take: () => takeFrom(reader),
        wait: reader.wakes.add,
        close,
      });
      return Object.assign(from, { [Symbol.asyncIterator]: () => iterate(reader, close) });
    },
    get size() {
      return readers.size;
    },
  };
}
