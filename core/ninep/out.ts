/**
 * Replies of one connection to bytes. What is answered while a chunk of requests is handled leaves in one write; later
 * answers leave together at the end of the tick. All connections share one slab, since it is free again when a write returns:
 * only bytes that the system did not take keep one of their own.
 */
import type { Duplex } from "node:stream";
import { type Encoded, encodeInto, type Rmsg, sizeOf } from "./codec.ts";
import { limits } from "./limits.ts";
import { descriptorOf } from "./listen.ts";

const SLAB = 2 * limits.offeredMsize;
/** Replies from here on are buffers of their own: in the slab they would be copied twice where the other side is slow. */
const LARGE = 16 * 1024;
let spare: Buffer | undefined;
/** Buffers of large replies that the system has taken: fresh ones made a stream cost half as much again. */
const free: Buffer[] = [];
const FREE = 16;

export interface Out {
  send(msg: Rmsg | Encoded): void;
  /** Holds back writes until the matching `release`. */
  hold(): void;
  release(): void;
  /** Bytes not taken by the other side yet. */
  unsent(): number;
  /** Whether there is room for more data; if not, `wake` is called once when there is. */
  room(wake: () => void): boolean;
}

/** `onRoom` is called each time the other side has taken all. */
export function output(duplex: Duplex, onRoom: () => void): Out {
  /** Replies that are not bytes yet, since the other side does not read. */
  let queue: (Rmsg | Encoded)[] = [];
  let queued = 0;
  let held = 0;
  let scheduled = false;
  let wakes: Set<() => void> | undefined;
  /** Where replies become bytes as they come; `at` of them are filled. */
  let slab: Buffer | undefined;
  let at = 0;
  /** Bytes that earlier writes have left waiting: asking the stream for each message costs. */
  let backlog = 0;
  let corked = false;
  /** Only the system is done with bytes when the write is; the other side of a pair within this process may hold them. */
  const reuses = descriptorOf(duplex) !== undefined;

  const take = (): Buffer => {
    const one = spare ?? Buffer.allocUnsafeSlow(SLAB);
    // A write to a pair within this process may come back here before it returns.
    spare = undefined;
    return one;
  };
  const flushSlab = () => {
    if (!slab) return;
    const mine = slab;
    const size = duplex.destroyed || duplex.writableEnded ? 0 : at;
    slab = undefined;
    at = 0;
    if (size === 0) {
      spare = mine;
      return;
    }
    // Behind a backlog bytes wait: they must not keep a whole slab each.
    const waits = !reuses || duplex.writableLength > 0;
    duplex.write(waits ? Buffer.from(mine.subarray(0, size)) : mine.subarray(0, size));
    backlog = duplex.writableLength;
    if (waits || backlog === 0) spare = mine;
  };
  const putLarge = (msg: Rmsg | Encoded, size: number) => {
    const usual = reuses && size <= limits.offeredMsize;
    const buf = (usual ? free.pop() : undefined) ?? Buffer.allocUnsafeSlow(usual ? limits.offeredMsize : size);
    encodeInto(msg, buf, 0);
    const taken = () => void (free.length < FREE && free.push(buf));
    duplex.write(buf.subarray(0, size), usual ? taken : undefined);
    backlog = duplex.writableLength;
  };
  const put = (msg: Rmsg | Encoded) => {
    const size = sizeOf(msg);
    if (size > LARGE) {
      flushSlab();
      // All of one tick in one system call: a third more of a stream's rate.
      if (!corked) duplex.cork();
      corked = true;
      putLarge(msg, size);
      return;
    }
    if (at + size > SLAB) flushSlab();
    slab ??= take();
    at = encodeInto(msg, slab, at);
  };
  const flush = () => {
    scheduled = false;
    if (duplex.destroyed || duplex.writableEnded) queue = [];
    backlog = duplex.writableLength;
    let next = 0;
    for (; next < queue.length && backlog + at <= limits.unsent; next++) {
      const msg = queue[next] as Rmsg | Encoded;
      queued -= weightOf(msg);
      put(msg);
    }
    if (next === queue.length) queue = [];
    else queue.splice(0, next);
    flushSlab();
    if (corked) duplex.uncork();
    corked = false;
  };
  duplex.on("drain", () => {
    flush();
    onRoom();
    const woken = wakes;
    wakes = undefined;
    if (woken) for (const wake of woken) wake();
  });
  return {
    send(msg) {
      if (held > 0 && queue.length === 0 && backlog + at <= limits.unsent) return put(msg);
      queue.push(msg);
      queued += weightOf(msg);
      if (held > 0 || scheduled) return;
      scheduled = true;
      process.nextTick(flush);
    },
    hold() {
      held++;
      backlog = duplex.writableLength;
    },
    release() {
      held--;
      if (held === 0 && !scheduled) flush();
    },
    unsent: () => queued + at + duplex.writableLength,
    room(wake) {
      if (queued + at + duplex.writableLength <= limits.unsent) return true;
      wakes ??= new Set();
      wakes.add(wake);
      return false;
    },
  };
}

/** About how many bytes a reply takes. */
const weightOf = (msg: Rmsg | Encoded): number => (msg.type === "Rread" ? msg.data.length : 64);
