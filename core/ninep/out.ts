/**
 * Replies of one connection to bytes. What is answered while a chunk of requests is handled leaves in one write; later
 * answers leave together at the end of the tick. All connections share one slab, since it is free again when a write returns:
 * only bytes that the system did not take keep one of their own.
 */
import type { Duplex } from "node:stream";
import { encodeInto, type Rmsg, sizeOf } from "./codec.ts";
import { limits } from "./limits.ts";

const SLAB = 2 * limits.offeredMsize;
let spare: Buffer | undefined;

export interface Out {
  send(msg: Rmsg): void;
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
  /** Replies that are not bytes yet. */
  let queue: Rmsg[] = [];
  let queued = 0;
  let held = 0;
  let scheduled = false;
  let wakes: Set<() => void> | undefined;

  /** Whether the bytes were taken, so that `bytes` can serve again. */
  const write = (bytes: Buffer): boolean => {
    // Behind a backlog bytes wait: they must not keep a whole slab each.
    const waits = duplex.writableLength > 0;
    duplex.write(waits ? Buffer.from(bytes) : bytes);
    return waits || duplex.writableLength === 0;
  };
  const flush = () => {
    scheduled = false;
    if (duplex.destroyed || duplex.writableEnded) queue = [];
    let slab = spare ?? Buffer.allocUnsafeSlow(SLAB);
    // A write to a pair within this process may come back here before it returns.
    spare = undefined;
    let next = 0;
    let at = 0;
    for (; next < queue.length && duplex.writableLength + at <= limits.unsent; next++) {
      const msg = queue[next] as Rmsg;
      const size = sizeOf(msg);
      queued -= weightOf(msg);
      if (size > SLAB - at && at > 0) {
        if (!write(slab.subarray(0, at))) slab = Buffer.allocUnsafeSlow(SLAB);
        at = 0;
      }
      if (size <= SLAB) at = encodeInto(msg, slab, at);
      else {
        const large = Buffer.allocUnsafeSlow(size);
        encodeInto(msg, large, 0);
        duplex.write(large);
      }
    }
    if (next === queue.length) queue = [];
    else queue.splice(0, next);
    if (at === 0 || write(slab.subarray(0, at))) spare = slab;
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
      queue.push(msg);
      queued += weightOf(msg);
      if (held > 0 || scheduled) return;
      scheduled = true;
      process.nextTick(flush);
    },
    hold() {
      held++;
    },
    release() {
      held--;
      if (held === 0 && !scheduled) flush();
    },
    unsent: () => queued + duplex.writableLength,
    room(wake) {
      if (queued + duplex.writableLength <= limits.unsent) return true;
      wakes ??= new Set();
      wakes.add(wake);
      return false;
    },
  };
}

/** About how many bytes a reply takes. */
const weightOf = (msg: Rmsg): number => (msg.type === "Rread" ? msg.data.length : 64);
