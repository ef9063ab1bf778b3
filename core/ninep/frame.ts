/** A stream of chunks to whole 9P messages: size[4], then the rest. */
import { ProtocolError } from "./message.ts";

/** size[4] type[1] tag[2]: no message is shorter. */
const SMALLEST = 7;
/** First room for a message that arrives in pieces, and the most that an idle connection keeps. */
const FIRST = 512;
const NOTHING: Buffer = Buffer.alloc(0);

export interface Framer {
  /**
   * Gives out every message that `chunk` completes, in order, before it returns. Throws ProtocolError when a size is under 7 or
   * over the maximum: the connection has to end, since where the next message starts is unknown. Not to be called from `onMessage`.
   */
  push(chunk: Buffer): void;
  /** Whether there are messages that were kept back. */
  kept(): boolean;
  /** Gives out what was kept back, as long as it is not full again. */
  resume(): void;
}

/**
 * Cuts a stream into messages. `onMessage` gets one whole message with its leading size, in `buf` from `start` to `end`; the bytes
 * are its own only until it returns. `getMax` is asked for the largest size at each message, because Tversion changes it.
 *
 * Messages that lie whole in a chunk are given out where they lie. Of one in pieces the bytes that came are gathered in a buffer that
 * doubles as they come: time is linear whatever the chunks are, and a claimed size alone allocates nothing.
 *
 * While `isFull` says true messages are kept back: one chunk of small requests can ask for thousands of times its size.
 */
export function framer(
  onMessage: (buf: Buffer, start: number, end: number) => void,
  getMax: () => number,
  isFull: () => boolean = () => false,
): Framer {
  let gathered = NOTHING;
  let have = 0;
  /** Bytes kept back. */
  let rest: Buffer | undefined;

  const checked = (size: number): number => {
    if (size < SMALLEST) throw new ProtocolError(`message size ${size} is under ${SMALLEST}`);
    const max = getMax();
    if (size > max) throw new ProtocolError(`message size ${size} is over msize ${max}`);
    return size;
  };

  const gather = (chunk: Buffer, from: number, to: number): void => {
    const need = have + to - from;
    if (need > gathered.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(need, 2 * gathered.length, FIRST));
      gathered.copy(larger, 0, 0, have);
      gathered = larger;
    }
    chunk.copy(gathered, have, from, to);
    have = need;
  };

  /** Completes the gathered message from the head of `chunk`; gives the offset behind it, or the chunk's end if it is not whole yet. */
  const finish = (chunk: Buffer): number => {
    let from = 0;
    if (have < 4) {
      from = Math.min(4 - have, chunk.length);
      gather(chunk, 0, from);
      if (have < 4) return from;
    }
    const size = checked(gathered.readUInt32LE(0));
    const to = Math.min(from + size - have, chunk.length);
    gather(chunk, from, to);
    if (have < size) return to;
    have = 0;
    onMessage(gathered, 0, size);
    return to;
  };

  const push = (chunk: Buffer): void => {
    if (rest) {
      rest = Buffer.concat([rest, chunk]);
      return;
    }
    let at = have > 0 ? finish(chunk) : 0;
    while (chunk.length - at >= 4) {
      if (isFull()) {
        rest = chunk.subarray(at);
        return;
      }
      const end = at + checked(chunk.readUInt32LE(at));
      if (end > chunk.length) break;
      onMessage(chunk, at, end);
      at = end;
    }
    if (at < chunk.length) gather(chunk, at, chunk.length);
    else if (have === 0 && gathered.length > FIRST) gathered = NOTHING;
  };
  return {
    push,
    kept: () => rest !== undefined,
    resume() {
      const kept = rest;
      rest = undefined;
      if (kept) push(kept);
    },
  };
}
