/**
 * Replies of one connection to bytes. What is answered while a chunk of requests is handled leaves in one write; later
 * answers leave together at the end of the tick. The slab is used again once the kernel has taken it.
 */
import type { Duplex } from "node:stream";
import { encodeInto, type Rmsg, sizeOf } from "./codec.ts";

const SLAB = 64 * 1024;

export interface Out {
  send(msg: Rmsg): void;
  /** Holds back writes until the matching `release`. */
  hold(): void;
  release(): void;
  /** Bytes not taken by the other side yet. */
  unsent(): number;
}

export function output(duplex: Duplex): Out {
  let slab: Buffer | undefined;
  let at = 0;
  let held = 0;
  let scheduled = false;

  const flush = () => {
    scheduled = false;
    if (at === 0 || !slab) return;
    const ready = slab.subarray(0, at);
    at = 0;
    if (duplex.destroyed) return;
    duplex.write(ready);
    // With nothing queued the operating system has its copy and the slab can serve again.
    if (duplex.writableLength > 0) slab = undefined;
  };
  return {
    send(msg) {
      const size = sizeOf(msg);
      if (size > SLAB - at) flush();
      if (size > SLAB) {
        const large = Buffer.allocUnsafeSlow(size);
        encodeInto(msg, large, 0);
        if (!duplex.destroyed) duplex.write(large);
        return;
      }
      slab ??= Buffer.allocUnsafeSlow(SLAB);
      at = encodeInto(msg, slab, at);
      if (held > 0 || scheduled) return;
      scheduled = true;
      process.nextTick(flush);
    },
    hold() {
      held++;
    },
    release() {
      held--;
      if (held === 0) flush();
    },
    unsent: () => at + duplex.writableLength,
  };
}
