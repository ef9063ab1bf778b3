/**
 * Fields of 9P2000 to and from bytes. One cursor for reading and one for writing, as variables of this module: decode and
 * encode run to their end without a pause, and a cursor made for each message costs more than the message.
 */
import { isUtf8 } from "node:buffer";
import { ProtocolError, type Qid, type Stat } from "./message.ts";

const TWO32 = 0x100000000;
/** size, type, dev, qid, mode, atime, mtime, length of a stat: its bytes without the strings. */
const STATFIXED = 41;
/** Strings and data up to these lengths are read and written byte by byte: less than a call costs (measured on Node 20). */
const SHORTREAD = 12;
const SHORTWRITE = 32;

let source: Buffer = Buffer.alloc(0);
let at = 0;
let limit = 0;
let tag: number | undefined;

/** Starts reading at `start`; nothing at or after `end` is touched. */
export function readFrom(buf: Buffer, start: number, end: number): void {
  source = buf;
  at = start;
  limit = Math.min(end, buf.length);
  tag = undefined;
}

const byte = (i: number): number => source[i] as number;

/** The error that names what is wrong with the message being read. */
export function bad(text: string): ProtocolError {
  return new ProtocolError(text, tag);
}

function take(n: number): number {
  const from = at;
  at += n;
  if (at > limit) throw bad("message is cut short");
  return from;
}

export function getTag(): number {
  tag = get16();
  return tag;
}

export function get8(): number {
  return source[take(1)] as number;
}

export function get16(): number {
  const from = take(2);
  return byte(from) | (byte(from + 1) << 8);
}

export function get32(): number {
  const from = take(4);
  return (byte(from) | (byte(from + 1) << 8) | (byte(from + 2) << 16) | (byte(from + 3) << 24)) >>> 0;
}

/** 8 bytes; rounded over 2^53. */
export function get64(): number {
  const low = get32();
  return get32() * TWO32 + low;
}

/** A string is its length and that much UTF-8, strictly checked, and never holds a NUL: intro(5). */
export function getString(): string {
  const size = get16();
  const from = take(size);
  let ascii = true;
  for (let i = from; i < at; i++) {
    const byte = source[i] as number;
    if (byte === 0) throw bad("string holds a NUL");
    if (byte > 0x7f) ascii = false;
  }
  if (ascii) return size <= SHORTREAD ? shortString(from) : source.toString("latin1", from, at);
  if (!isUtf8(source.subarray(from, at))) throw bad("string is not UTF-8");
  return source.toString("utf8", from, at);
}

function shortString(from: number): string {
  let text = "";
  for (let i = from; i < at; i++) text += String.fromCharCode(source[i] as number);
  return text;
}

/** A count and that many bytes: a view, not a copy. */
export function getData(): Buffer {
  const size = get32();
  const from = take(size);
  return source.subarray(from, at);
}

export function getQid(): Qid {
  return { type: get8(), vers: get32(), path: get64() };
}

/** A stat with its own leading size, which must be that of what follows. */
export function getStat(): Stat {
  const size = get16();
  const end = at + size;
  if (end > limit) throw bad("stat is cut short");
  const stat: Stat = {
    type: get16(),
    dev: get32(),
    qid: getQid(),
    mode: get32(),
    atime: get32(),
    mtime: get32(),
    length: getLength(),
    name: getString(),
    uid: getString(),
    gid: getString(),
    muid: getString(),
  };
  if (at !== end) throw bad("stat has a wrong size");
  return stat;
}

function getLength(): number {
  const low = get32();
  const high = get32();
  return low === 0xffffffff && high === 0xffffffff ? -1 : high * TWO32 + low;
}

/** How many bytes of the message are unread. */
export function left(): number {
  return limit - at;
}

let target: Buffer = source;
let to = 0;

/** Starts writing at `start`. */
export function writeTo(buf: Buffer, start: number): void {
  target = buf;
  to = start;
}

/** Where the next field goes. */
export function written(): number {
  return to;
}

/** Where the next `n` bytes go. A store behind the end of a buffer would be lost without a word. */
function make(n: number): number {
  const from = to;
  to += n;
  if (to > target.length) throw new RangeError("buffer is too small for the message");
  return from;
}

// A byte takes the low eight bits of what is stored in it.

export function put8(value: number): void {
  target[make(1)] = value;
}

export function put16(value: number): void {
  const at = make(2);
  target[at] = value;
  target[at + 1] = value >>> 8;
}

export function put32(value: number): void {
  const at = make(4);
  target[at] = value;
  target[at + 1] = value >>> 8;
  target[at + 2] = value >>> 16;
  target[at + 3] = value >>> 24;
}

/** -1 gives the "don't touch" of wstat. */
export function put64(value: number): void {
  put32(value < 0 ? 0xffffffff : value);
  put32(value < 0 ? 0xffffffff : Math.floor(value / TWO32));
}

export function stringSize(text: string): number {
  if (text.length > SHORTWRITE) return 2 + Buffer.byteLength(text);
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7f) return 2 + Buffer.byteLength(text);
  return 2 + text.length;
}

export function putString(text: string): void {
  if (text.length <= SHORTWRITE && putShort(text)) return;
  const size = Buffer.byteLength(text);
  if (size > 0xffff) throw new ProtocolError("string is over 65535 bytes");
  put16(size);
  if (target.write(text, to, size) !== size) throw new RangeError("buffer is too small for the message");
  to += size;
}

/** False when it is not ASCII: then nothing counts as written. */
function putShort(text: string): boolean {
  const start = to;
  put16(text.length);
  const at = make(text.length);
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code > 0x7f) {
      to = start;
      return false;
    }
    target[at + i] = code;
  }
  return true;
}

export function putData(data: Uint8Array): void {
  put32(data.length);
  putBytes(data);
}

export function putBytes(bytes: Uint8Array): void {
  const at = make(bytes.length);
  if (bytes.length > SHORTWRITE) target.set(bytes, at);
  else for (let i = 0; i < bytes.length; i++) target[at + i] = bytes[i] as number;
}

export function putQid(qid: Qid): void {
  put8(qid.type);
  put32(qid.vers);
  put64(qid.path);
}

/** Bytes of a stat on the wire, its leading 2-byte size included. */
export function statSize(stat: Stat): number {
  return STATFIXED + stringSize(stat.name) + stringSize(stat.uid) + stringSize(stat.gid) + stringSize(stat.muid);
}

export function putStat(stat: Stat): void {
  const start = to;
  put16(0);
  put16(stat.type);
  put32(stat.dev);
  putQid(stat.qid);
  put32(stat.mode);
  put32(stat.atime);
  put32(stat.mtime);
  put64(stat.length);
  putString(stat.name);
  putString(stat.uid);
  putString(stat.gid);
  putString(stat.muid);
  const size = to - start - 2;
  if (size > 0xffff) throw new ProtocolError("stat is over 65535 bytes");
  target.writeUInt16LE(size, start);
}
