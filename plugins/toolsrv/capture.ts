/** Keeps the head and the tail of an output of any length, in bounded memory. */

export interface Capture {
  push(chunk: Buffer): void;
  readonly total: number;
  /** Whole characters only; bytes that are not UTF-8 become U+FFFD. */
  result(): { head: string; tail: string; omitted: number };
}

/** Bytes of head and tail: by default as much as the model gets of one result. What lies between them is counted, exactly, and forgotten. */
export function capture(headSize = 32 << 10, tailSize = 31 << 10): Capture {
  const head = Buffer.alloc(headSize);
  const ring = Buffer.alloc(tailSize);
  let headLength = 0;
  let ringAt = 0;
  let ringTotal = 0;
  const toRing = (chunk: Buffer) => {
    ringTotal += chunk.length;
    const kept = chunk.length > tailSize ? chunk.subarray(chunk.length - tailSize) : chunk;
    const first = Math.min(kept.length, tailSize - ringAt);
    kept.copy(ring, ringAt, 0, first);
    kept.copy(ring, 0, first);
    ringAt = (ringAt + kept.length) % tailSize;
  };
  return {
    push(chunk) {
      const taken = Math.min(chunk.length, headSize - headLength);
      chunk.copy(head, headLength, 0, taken);
      headLength += taken;
      if (taken < chunk.length) toRing(chunk.subarray(taken));
    },
    get total() {
      return headLength + ringTotal;
    },
    result() {
      const tail =
        ringTotal < tailSize
          ? ring.subarray(0, ringAt)
          : Buffer.concat([ring.subarray(ringAt), ring.subarray(0, ringAt)]);
      const first = head.subarray(0, headLength);
      if (ringTotal <= tailSize) return { head: Buffer.concat([first, tail]).toString("utf8"), tail: "", omitted: 0 };
      const kept = first.subarray(0, wholeEnd(first));
      const rest = tail.subarray(wholeStart(tail));
      return {
        head: kept.toString("utf8"),
        tail: rest.toString("utf8"),
        omitted: headLength + ringTotal - kept.length - rest.length,
      };
    },
  };
}

const continues = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

/** Where the first whole character starts: at most three bytes of a cut one come before. */
function wholeStart(bytes: Buffer): number {
  let at = 0;
  while (at < 3 && continues(bytes[at])) at++;
  return at;
}

/** Where the last whole character ends. */
function wholeEnd(bytes: Buffer): number {
  let start = bytes.length - 1;
  while (start > 0 && start > bytes.length - 4 && continues(bytes[start])) start--;
  const lead = bytes[start];
  if (lead === undefined || lead < 0xc0) return bytes.length;
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  return start + length > bytes.length ? start : bytes.length;
}
