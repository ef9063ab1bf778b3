/** 9P2000 messages to bytes. codec.ts exports this and the way back. */
import type { Encoded, Msg, MsgType, Stat } from "./message.ts";
import {
  put8,
  put16,
  put32,
  put64,
  putBytes,
  putData,
  putQid,
  putStat,
  putString,
  statSize,
  stringSize,
  writeTo,
  written,
} from "./wire.ts";

/** size[4] type[1] tag[2]. */
const HEADER = 7;
const QIDSIZE = 13;

/** Number of each type on the wire. 106 would be Terror, which does not exist. */
const typeNumber: Record<MsgType, number> = {
  Tversion: 100,
  Rversion: 101,
  Tauth: 102,
  Rauth: 103,
  Tattach: 104,
  Rattach: 105,
  Rerror: 107,
  Tflush: 108,
  Rflush: 109,
  Twalk: 110,
  Rwalk: 111,
  Topen: 112,
  Ropen: 113,
  Tcreate: 114,
  Rcreate: 115,
  Tread: 116,
  Rread: 117,
  Twrite: 118,
  Rwrite: 119,
  Tclunk: 120,
  Rclunk: 121,
  Tremove: 122,
  Rremove: 123,
  Tstat: 124,
  Rstat: 125,
  Twstat: 126,
  Rwstat: 127,
};

/** Bytes that `msg` takes on the wire, its leading size included. */
export function sizeOf(msg: Msg | Encoded): number {
  switch (msg.type) {
    case "encoded":
      return HEADER + msg.body.length;
    case "Tversion":
    case "Rversion":
      return HEADER + 4 + stringSize(msg.version);
    case "Tauth":
      return HEADER + 4 + stringSize(msg.uname) + stringSize(msg.aname);
    case "Tattach":
      return HEADER + 8 + stringSize(msg.uname) + stringSize(msg.aname);
    case "Rauth":
    case "Rattach":
      return HEADER + QIDSIZE;
    case "Rerror":
      return HEADER + stringSize(msg.ename);
    case "Tflush":
      return HEADER + 2;
    case "Twalk":
      return msg.wname.reduce((sum, name) => sum + stringSize(name), HEADER + 10);
    case "Rwalk":
      return HEADER + 2 + QIDSIZE * msg.wqid.length;
    case "Topen":
      return HEADER + 5;
    case "Ropen":
    case "Rcreate":
      return HEADER + QIDSIZE + 4;
    case "Tcreate":
      return HEADER + 9 + stringSize(msg.name);
    case "Tread":
      return HEADER + 16;
    case "Rread":
      return HEADER + 4 + msg.data.length;
    case "Twrite":
      return HEADER + 16 + msg.data.length;
    case "Rwrite":
    case "Tclunk":
    case "Tremove":
    case "Tstat":
      return HEADER + 4;
    case "Rstat":
      return HEADER + 2 + statSize(msg.stat);
    case "Twstat":
      return HEADER + 6 + statSize(msg.stat);
    case "Rflush":
    case "Rclunk":
    case "Rremove":
    case "Rwstat":
      return HEADER;
  }
}

/**
 * Writes `msg` into `buf` at `at` and gives the offset behind it. `buf` needs `sizeOf(msg)` bytes from there, else a
 * RangeError; a string or stat that does not fit its 2-byte size is a ProtocolError. Numbers are cut to their field.
 */
export function encodeInto(msg: Msg | Encoded, buf: Buffer, at: number): number {
  const { type, tag } = msg;
  writeTo(buf, at + 4);
  put8(typeNumber[type === "encoded" ? (msg as Encoded).of : type]);
  put16(tag);
  putBody(msg);
  const end = written();
  writeTo(buf, at);
  put32(end - at);
  return end;
}

function putBody(msg: Msg | Encoded): void {
  switch (msg.type) {
    case "encoded":
      putBytes(msg.body);
      break;
    case "Tversion":
    case "Rversion":
      put32(msg.msize);
      putString(msg.version);
      break;
    case "Tauth":
      put32(msg.afid);
      putString(msg.uname);
      putString(msg.aname);
      break;
    case "Rauth":
      putQid(msg.aqid);
      break;
    case "Tattach":
      put32(msg.fid);
      put32(msg.afid);
      putString(msg.uname);
      putString(msg.aname);
      break;
    case "Rattach":
      putQid(msg.qid);
      break;
    case "Rerror":
      putString(msg.ename);
      break;
    case "Tflush":
      put16(msg.oldtag);
      break;
    case "Twalk":
      put32(msg.fid);
      put32(msg.newfid);
      put16(msg.wname.length);
      for (const name of msg.wname) putString(name);
      break;
    case "Rwalk":
      put16(msg.wqid.length);
      for (const qid of msg.wqid) putQid(qid);
      break;
    case "Topen":
      put32(msg.fid);
      put8(msg.mode);
      break;
    case "Ropen":
    case "Rcreate":
      putQid(msg.qid);
      put32(msg.iounit);
      break;
    case "Tcreate":
      put32(msg.fid);
      putString(msg.name);
      put32(msg.perm);
      put8(msg.mode);
      break;
    case "Tread":
      put32(msg.fid);
      put64(msg.offset);
      put32(msg.count);
      break;
    case "Rread":
      putData(msg.data);
      break;
    case "Twrite":
      put32(msg.fid);
      put64(msg.offset);
      putData(msg.data);
      break;
    case "Rwrite":
      put32(msg.count);
      break;
    case "Tclunk":
    case "Tremove":
    case "Tstat":
      put32(msg.fid);
      break;
    case "Rstat":
      put16(statSize(msg.stat));
      putStat(msg.stat);
      break;
    case "Twstat":
      put32(msg.fid);
      put16(statSize(msg.stat));
      putStat(msg.stat);
      break;
    case "Rflush":
    case "Rclunk":
    case "Rremove":
    case "Rwstat":
      break;
  }
}

/** `msg` in a buffer of its own. */
export function encode(msg: Msg): Buffer {
  const buf = Buffer.allocUnsafe(sizeOf(msg));
  encodeInto(msg, buf, 0);
  return buf;
}

/** The body of an Rstat, in which the stat's size stands twice. */
export function encodeRstat(stat: Stat): Buffer {
  const size = statSize(stat);
  const buf = Buffer.allocUnsafe(size + 2);
  writeTo(buf, 0);
  put16(size);
  putStat(stat);
  return buf;
}

/** A stat as it stands in a directory read: its 2-byte size first. */
export function encodeStat(stat: Stat): Buffer {
  const buf = Buffer.allocUnsafe(statSize(stat));
  writeTo(buf, 0);
  putStat(stat);
  return buf;
}
