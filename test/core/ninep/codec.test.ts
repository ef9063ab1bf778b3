import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decode,
  decodeStat,
  encode,
  encodeInto,
  encodeStat,
  type Msg,
  ProtocolError,
  type Stat,
  sizeOf,
  statSize,
} from "../../../core/ninep/codec.ts";
import { anyMessage, message, stat, types } from "./messages.ts";

const back = (msg: Msg): Msg => {
  const bytes = encode(msg);
  return decode(bytes, 0, bytes.length);
};

/** The ProtocolError that decoding `bytes` throws. */
function fault(bytes: Buffer): ProtocolError {
  try {
    decode(bytes, 0, bytes.length);
  } catch (error) {
    if (error instanceof ProtocolError) return error;
    throw error;
  }
  throw new Error("the message was accepted");
}

/** `body` behind a right header. */
function framed(type: number, tag: number, ...body: (number | number[] | Buffer)[]): Buffer {
  const rest = Buffer.concat(body.map((part) => (typeof part === "number" ? Buffer.from([part]) : Buffer.from(part))));
  const head = Buffer.alloc(7);
  head.writeUInt32LE(7 + rest.length, 0);
  head.writeUInt8(type, 4);
  head.writeUInt16LE(tag, 5);
  return Buffer.concat([head, rest]);
}

const string = (text: Buffer | string): Buffer => {
  const bytes = Buffer.from(text as string);
  return Buffer.concat([Buffer.from([bytes.length & 0xff, bytes.length >> 8]), bytes]);
};

const someStat: Stat = {
  type: 1,
  dev: 2,
  qid: { type: 0x80, vers: 3, path: 2 ** 40 + 5 },
  mode: 0x800001ed,
  atime: 10,
  mtime: 11,
  length: 2 ** 33,
  name: "session",
  uid: "glenda",
  gid: "sys",
  muid: "",
};

describe("codec", () => {
  for (const type of types) {
    it(`${type}: decode(encode(m)) = m, at any offset of a larger buffer`, () => {
      fc.assert(
        fc.property(message(type), fc.nat({ max: 50 }), (msg, at) => {
          const size = sizeOf(msg);
          const buf = Buffer.alloc(at + size + 10, 0xaa);
          expect(encodeInto(msg, buf, at)).toBe(at + size);
          expect(buf.readUInt32LE(at)).toBe(size);
          expect(decode(buf, at, at + size)).toEqual(msg);
          expect(buf.subarray(0, at).every((b) => b === 0xaa) && buf.subarray(at + size).every((b) => b === 0xaa)).toBe(
            true,
          );
        }),
      );
    });
  }

  it("has the bytes of the manual", () => {
    expect(encode({ type: "Tversion", tag: 0xffff, msize: 8192, version: "9P2000" }).toString("hex")).toBe(
      "1300000064ffff002000000600395032303030",
    );
    expect(encode({ type: "Twalk", tag: 1, fid: 2, newfid: 3, wname: ["a", "bc"] }).toString("hex")).toBe(
      "180000006e0100020000000300000002000100610200" + "6263",
    );
    expect(encode({ type: "Tread", tag: 1, fid: 2, offset: 2 ** 32 + 7, count: 9 }).toString("hex")).toBe(
      "17000000740100020000000700000001000000" + "09000000",
    );
    expect(encode({ type: "Rflush", tag: 5 }).toString("hex")).toBe("070000006d0500");
  });

  it("throws ProtocolError only, whatever the bytes", () => {
    const only = (bytes: Buffer): void => {
      try {
        decode(bytes, 0, bytes.length);
      } catch (error) {
        expect(error).toBeInstanceOf(ProtocolError);
      }
    };
    fc.assert(fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => only(Buffer.from(bytes))));
    fc.assert(
      fc.property(fc.integer({ min: 98, max: 130 }), fc.uint8Array({ maxLength: 200 }), (type, bytes) =>
        only(framed(type, 1, Buffer.from(bytes))),
      ),
      { numRuns: 2000 },
    );
    const change = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(anyMessage, change, (msg, changes) => {
        const bytes = encode(msg);
        for (const [at, value] of changes) bytes[7 + (at % Math.max(1, bytes.length - 7))] = value;
        only(bytes);
      }),
      { numRuns: 2000 },
    );
  });

  it("refuses every message that is cut short or has a byte too many, and says its tag", () => {
    fc.assert(
      fc.property(anyMessage, fc.nat(), (msg, n) => {
        const bytes = encode(msg);
        const cut = bytes.subarray(0, n % bytes.length);
        expect(fault(cut).tag).toBe(cut.length < 7 ? undefined : msg.tag);
        if (cut.length >= 7) {
          const claimed = Buffer.from(cut);
          claimed.writeUInt32LE(cut.length, 0);
          expect(fault(claimed).tag).toBe(msg.tag);
        }
        const long = Buffer.concat([bytes, Buffer.from([0])]);
        long.writeUInt32LE(long.length, 0);
        expect(fault(long).tag).toBe(msg.tag);
      }),
    );
  });

  it("refuses types that do not exist", () => {
    for (const type of [0, 99, 106, 128, 255])
      expect(fault(framed(type, 9))).toMatchObject({ message: `message type ${type} is unknown`, tag: 9 });
  });

  it("refuses bytes outside of the buffer", () => {
    const bytes = encode({ type: "Tclunk", tag: 1, fid: 1 });
    expect(() => decode(bytes.subarray(0, 9), 0, 11)).toThrow(ProtocolError);
    expect(() => decode(bytes, 4, 2)).toThrow(ProtocolError);
  });

  it("refuses strings past the end, bad UTF-8 and NUL", () => {
    const open = (text: Buffer): Buffer => framed(107, 1, text);
    expect(fault(open(Buffer.from([5, 0, 97, 98]))).message).toBe("message is cut short");
    expect(fault(open(Buffer.from([255, 255, 97]))).message).toBe("message is cut short");
    for (const bytes of [[0xff], [0xc3], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xe2, 0x82]])
      expect(fault(open(string(Buffer.from(bytes)))).message).toBe("string is not UTF-8");
    expect(fault(open(string("a\0b"))).message).toBe("string holds a NUL");
    expect(fault(open(string("é\0"))).message).toBe("string holds a NUL");
    expect(fault(open(string(`${"long ".repeat(20)}\0`))).message).toBe("string holds a NUL");
  });

  it("refuses more than 16 names and 16 qids", () => {
    const msg: Msg = { type: "Twalk", tag: 4, fid: 1, newfid: 2, wname: Array.from({ length: 17 }, () => "a") };
    expect(fault(encode(msg))).toMatchObject({ message: "walk of more than 16 names", tag: 4 });
    const qid = { type: 0, vers: 0, path: 0 };
    expect(fault(encode({ type: "Rwalk", tag: 4, wqid: Array.from({ length: 17 }, () => qid) })).tag).toBe(4);
  });

  it("rounds an offset over 2^53: it is past the end of everything", () => {
    const read = (high: number): Buffer =>
      framed(116, 1, [1, 0, 0, 0], [0, 0, 0, 0, 0, 0, high & 0xff, high >> 8], [1, 0, 0, 0]);
    expect(decode(read(0x20), 0, 23)).toMatchObject({ offset: 2 ** 53 });
    expect(decode(read(0xffff), 0, 23)).toMatchObject({ offset: 0xffff * 2 ** 48 });
    expect(decode(read(0x1f), 0, 23)).toMatchObject({ offset: 0x1f * 2 ** 48 });
  });

  it("checks both sizes of a stat", () => {
    const bytes = encode({ type: "Twstat", tag: 1, fid: 1, stat: someStat });
    for (const [at, delta] of [
      [11, 1],
      [11, -1],
      [13, 1],
      [13, -1],
      [13, 400],
    ] as const) {
      const wrong = Buffer.from(bytes);
      wrong.writeUInt16LE(wrong.readUInt16LE(at) + delta, at);
      expect(fault(wrong).message).toMatch(/^stat (has a wrong size|is cut short)$/);
    }
    const inner = encodeStat(someStat);
    const longer = Buffer.concat([inner, Buffer.from([0])]);
    longer.writeUInt16LE(longer.length - 2, 0);
    const size = Buffer.alloc(2);
    size.writeUInt16LE(longer.length, 0);
    expect(fault(framed(125, 1, size, longer)).message).toBe("stat has a wrong size");
  });

  it("shows the values that mean: do not touch", () => {
    const untouched = Buffer.alloc(49, 0xff);
    untouched.writeUInt16LE(47, 0);
    untouched.fill(0, 41);
    expect(decodeStat(untouched, 0)).toEqual({
      type: 0xffff,
      dev: 0xffffffff,
      qid: { type: 0xff, vers: 0xffffffff, path: 2 ** 64 },
      mode: 0xffffffff,
      atime: 0xffffffff,
      mtime: 0xffffffff,
      length: -1,
      name: "",
      uid: "",
      gid: "",
      muid: "",
    });
    const all = {
      ...someStat,
      type: -1,
      dev: -1,
      qid: { type: -1, vers: -1, path: -1 },
      mode: -1,
      atime: -1,
      mtime: -1,
    };
    expect(encodeStat({ ...all, length: -1, name: "", uid: "", gid: "", muid: "" })).toEqual(untouched);
  });

  it("reads a directory entry by entry", () => {
    fc.assert(
      fc.property(fc.array(stat, { maxLength: 5 }), (stats) => {
        const buf = Buffer.concat(stats.map(encodeStat));
        const read: Stat[] = [];
        for (let at = 0; at < buf.length; at += 2 + buf.readUInt16LE(at)) read.push(decodeStat(buf, at));
        expect(read).toEqual(stats);
        expect(buf.length).toBe(stats.reduce((sum, s) => sum + statSize(s), 0));
      }),
    );
    expect(() => decodeStat(encodeStat(someStat).subarray(0, 30), 0)).toThrow(ProtocolError);
    expect(() => decodeStat(Buffer.alloc(1), 0)).toThrow(ProtocolError);
  });

  it("gives data as a view, not a copy", () => {
    const bytes = encode({ type: "Twrite", tag: 1, fid: 1, offset: 0, data: Buffer.from("hello") });
    const msg = decode(bytes, 0, bytes.length);
    if (msg.type !== "Twrite") throw new Error("wrong type");
    expect(msg.data.buffer).toBe(bytes.buffer);
    bytes[bytes.length - 1] = 0x21;
    expect(Buffer.from(msg.data).toString()).toBe("hell!");
  });

  it("refuses to encode what does not fit", () => {
    const long = "x".repeat(65536);
    expect(() => encode({ type: "Rerror", tag: 1, ename: long })).toThrow(ProtocolError);
    expect(() => encode({ type: "Rstat", tag: 1, stat: { ...someStat, name: long.slice(0, 65535) } })).toThrow(
      ProtocolError,
    );
    expect(back({ type: "Rerror", tag: 1, ename: long.slice(1) })).toEqual({
      type: "Rerror",
      tag: 1,
      ename: long.slice(1),
    });
    for (const ename of ["short", "é", "long ".repeat(20)])
      expect(() => encodeInto({ type: "Rerror", tag: 1, ename }, Buffer.alloc(10), 0)).toThrow(RangeError);
    expect(() => encodeInto({ type: "Rread", tag: 1, data: Buffer.alloc(9) }, Buffer.alloc(19), 0)).toThrow(RangeError);
    expect(() => encodeInto({ type: "Rclunk", tag: 1 }, Buffer.alloc(6), 0)).toThrow(RangeError);
  });
});
