/** The messages of 9P2000 as records, in the words of section 5 of the Plan 9 manual. */

/** Tag of Tversion, and of nothing else. */
export const NOTAG = 0xffff;
/** "No fid": the afid of a Tattach without authentication. */
export const NOFID = 0xffffffff;
/** Most names in one Twalk. */
export const MAXWELEM = 16;
/** Room that a Tread or Twrite needs beside its data: iounit = msize - IOHDRSZ. */
export const IOHDRSZ = 24;

/** Modes of Topen and Tcreate. */
export const OREAD = 0;
export const OWRITE = 1;
export const ORDWR = 2;
export const OEXEC = 3;
export const OTRUNC = 0x10;
export const ORCLOSE = 0x40;

/** High bits of a Stat's mode; the low nine are rwxrwxrwx. */
export const DMDIR = 0x80000000;
export const DMAPPEND = 0x40000000;
export const DMEXCL = 0x20000000;

/** Bits of a qid's type. */
export const QTDIR = 0x80;
export const QTAPPEND = 0x40;
export const QTEXCL = 0x20;
export const QTFILE = 0;

/** `path` is exact up to 2^53 - 1; a larger one from a foreign server is rounded. */
export interface Qid {
  type: number;
  vers: number;
  path: number;
}

/**
 * A directory entry. In a Twstat a field may say "don't touch": the largest value of its size on the wire, and for strings
 * the empty one. 2 and 4 byte fields show that as 0xffff and 0xffffffff, the 8 byte `length` as -1.
 */
export interface Stat {
  type: number;
  dev: number;
  qid: Qid;
  mode: number;
  /** Seconds since 1970. */
  atime: number;
  mtime: number;
  /** Bytes; exact up to 2^53 - 1. */
  length: number;
  name: string;
  uid: string;
  gid: string;
  muid: string;
}

/** What a client sends. */
export type Tmsg =
  | { type: "Tversion"; tag: number; msize: number; version: string }
  | { type: "Tauth"; tag: number; afid: number; uname: string; aname: string }
  | { type: "Tattach"; tag: number; fid: number; afid: number; uname: string; aname: string }
  | { type: "Tflush"; tag: number; oldtag: number }
  | { type: "Twalk"; tag: number; fid: number; newfid: number; wname: string[] }
  | { type: "Topen"; tag: number; fid: number; mode: number }
  | { type: "Tcreate"; tag: number; fid: number; name: string; perm: number; mode: number }
  | { type: "Tread"; tag: number; fid: number; offset: number; count: number }
  | { type: "Twrite"; tag: number; fid: number; offset: number; data: Uint8Array }
  | { type: "Tclunk"; tag: number; fid: number }
  | { type: "Tremove"; tag: number; fid: number }
  | { type: "Tstat"; tag: number; fid: number }
  | { type: "Twstat"; tag: number; fid: number; stat: Stat };

/** What a server answers. */
export type Rmsg =
  | { type: "Rversion"; tag: number; msize: number; version: string }
  | { type: "Rauth"; tag: number; aqid: Qid }
  | { type: "Rattach"; tag: number; qid: Qid }
  | { type: "Rerror"; tag: number; ename: string }
  | { type: "Rflush"; tag: number }
  | { type: "Rwalk"; tag: number; wqid: Qid[] }
  | { type: "Ropen"; tag: number; qid: Qid; iounit: number }
  | { type: "Rcreate"; tag: number; qid: Qid; iounit: number }
  | { type: "Rread"; tag: number; data: Uint8Array }
  | { type: "Rwrite"; tag: number; count: number }
  | { type: "Rclunk"; tag: number }
  | { type: "Rremove"; tag: number }
  | { type: "Rstat"; tag: number; stat: Stat }
  | { type: "Rwstat"; tag: number };

/** A reply whose body is bytes already: what a server says again and again. */
export interface Encoded {
  type: "encoded";
  of: "Rstat";
  tag: number;
  body: Uint8Array;
}

export type Msg = Tmsg | Rmsg;
export type MsgType = Msg["type"];
/** The message of one type: `MsgOf<"Tread">`. */
export type MsgOf<T extends MsgType> = Extract<Msg, { type: T }>;

/**
 * Bytes that are no 9P2000 message. `tag` is that of the message, where so much of it could be read: a server can then
 * answer with an Rerror; without it only closing the connection is left.
 */
export class ProtocolError extends Error {
  readonly tag: number | undefined;
  constructor(text: string, tag?: number) {
    super(text);
    this.name = "ProtocolError";
    this.tag = tag;
  }
}
