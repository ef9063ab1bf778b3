import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encode, type Msg, ProtocolError } from "../../../core/ninep/codec.ts";
import { framer } from "../../../core/ninep/frame.ts";
import { anyMessage } from "./messages.ts";

/** Pushes `bytes` cut at `cuts`; the messages that come out, copied. */
function frames(bytes: Buffer, cuts: number[], max = 1 << 20): Buffer[] {
  const out: Buffer[] = [];
  const f = framer(
    (buf, start, end) => out.push(Buffer.from(buf.subarray(start, end))),
    () => max,
  );
  let at = 0;
  for (const cut of [...cuts.map((c) => c % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]) {
    f.push(bytes.subarray(at, cut));
    at = cut;
  }
  return out;
}

const header = (size: number): Buffer => {
  const head = Buffer.alloc(4);
  head.writeUInt32LE(size, 0);
  return head;
};

const clunk = (tag: number): Msg => ({ type: "Tclunk", tag, fid: 1 });

describe("framer", () => {
  it("gives whole messages in order, however the stream is cut", () => {
    fc.assert(
      fc.property(fc.array(anyMessage, { maxLength: 8 }), fc.array(fc.nat(), { maxLength: 30 }), (msgs, cuts) => {
        const encoded = msgs.map(encode);
        expect(frames(Buffer.concat(encoded), cuts)).toEqual(encoded);
      }),
    );
  });

  it("takes one byte at a time and many messages at once", () => {
    const encoded = Array.from({ length: 40 }, (_, tag) => encode(clunk(tag)));
    const bytes = Buffer.concat(encoded);
    expect(frames(bytes, [])).toEqual(encoded);
    expect(frames(bytes, [...bytes.keys()])).toEqual(encoded);
  });

  it("refuses sizes under 7, over the maximum, and with the high bit, as soon as the size is there", () => {
    for (const size of [0, 3, 6, 257, 0x80000000, 0x8000000b, 0xffffffff]) {
      expect(() => frames(header(size), [], 256)).toThrow(ProtocolError);
      expect(() => frames(header(size), [1, 2, 3], 256)).toThrow(ProtocolError);
      expect(() => frames(Buffer.concat([encode(clunk(1)), header(size)]), [13], 256)).toThrow(ProtocolError);
    }
    expect(frames(Buffer.concat([header(256), Buffer.alloc(252)]), [9], 256)).toHaveLength(1);
    expect(frames(Buffer.concat([header(7), Buffer.alloc(3)]), [], 256)).toHaveLength(1);
  });

  it("asks for the maximum at each message, since Tversion changes it", () => {
    let max = 1000;
    let seen = 0;
    const f = framer(
      () => {
        seen++;
        max = 20;
      },
      () => max,
    );
    f.push(Buffer.concat([header(500), Buffer.alloc(496), encode(clunk(1))]));
    expect(seen).toBe(2);
    expect(() => f.push(header(21))).toThrow(/message size 21 is over msize 20/);
  });

  it("allocates nothing for a size that is only claimed", () => {
    const before = process.memoryUsage().arrayBuffers;
    const open = Array.from({ length: 1000 }, () => {
      const f = framer(
        () => {},
        () => 1 << 20,
      );
      f.push(Buffer.concat([header(1 << 20), Buffer.alloc(10)]));
      return f;
    });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(open.length * 4096);
  });

  it("copies each byte a bounded number of times: small chunks of a large message stay linear", () => {
    // Counted, not timed: what Buffer.copy moved for one message of 1 MiB in chunks of 100 bytes.
    const bytes = Buffer.concat([header(1 << 20), Buffer.alloc((1 << 20) - 4)]);
    const copy = Buffer.prototype.copy;
    let moved = 0;
    Buffer.prototype.copy = function (this: Buffer, ...args: Parameters<typeof copy>): number {
      const n = copy.apply(this, args);
      moved += n;
      return n;
    };
    try {
      let seen = 0;
      const f = framer(
        () => seen++,
        () => 1 << 20,
      );
      for (let at = 0; at < bytes.length; at += 100) f.push(bytes.subarray(at, at + 100));
      expect(seen).toBe(1);
    } finally {
      Buffer.prototype.copy = copy;
    }
    expect(moved).toBeLessThan(4 * bytes.length);
  });
});
