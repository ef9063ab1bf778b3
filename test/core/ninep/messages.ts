/** fast-check arbitraries for every 9P message. */
import fc from "fast-check";
import type { Msg, Qid, Stat } from "../../../core/ninep/codec.ts";

const u8 = fc.nat({ max: 0xff });
const u16 = fc.nat({ max: 0xffff });
const u32 = fc.nat({ max: 0xffffffff });
const u53 = fc.maxSafeNat();
/** Any well-formed string without a NUL. */
const string = fc
  .oneof(fc.string({ maxLength: 40 }), fc.string({ unit: "binary", maxLength: 40 }), fc.string({ minLength: 200 }))
  .map((s) => s.replaceAll("\0", "0"));
const data = fc.uint8Array({ maxLength: 300 }).map((a) => Buffer.from(a));

const qid: fc.Arbitrary<Qid> = fc.record({ type: u8, vers: u32, path: u53 });

export const stat: fc.Arbitrary<Stat> = fc.record({
  type: u16,
  dev: u32,
  qid,
  mode: u32,
  atime: u32,
  mtime: u32,
  length: fc.oneof(u53, fc.constant(-1)),
  name: string,
  uid: string,
  gid: string,
  muid: string,
});

type Fields<T extends Msg["type"]> = {
  [K in Exclude<keyof Extract<Msg, { type: T }>, "type" | "tag">]: fc.Arbitrary<Extract<Msg, { type: T }>[K]>;
};

/** One row for each type: a type without a row does not compile. */
const fields: { [T in Msg["type"]]: Fields<T> } = {
  Tversion: { msize: u32, version: string },
  Rversion: { msize: u32, version: string },
  Tauth: { afid: u32, uname: string, aname: string },
  Rauth: { aqid: qid },
  Tattach: { fid: u32, afid: u32, uname: string, aname: string },
  Rattach: { qid },
  Rerror: { ename: string },
  Tflush: { oldtag: u16 },
  Rflush: {},
  Twalk: { fid: u32, newfid: u32, wname: fc.array(string, { maxLength: 16 }) },
  Rwalk: { wqid: fc.array(qid, { maxLength: 16 }) },
  Topen: { fid: u32, mode: u8 },
  Ropen: { qid, iounit: u32 },
  Tcreate: { fid: u32, name: string, perm: u32, mode: u8 },
  Rcreate: { qid, iounit: u32 },
  Tread: { fid: u32, offset: u53, count: u32 },
  Rread: { data },
  Twrite: { fid: u32, offset: u53, data },
  Rwrite: { count: u32 },
  Tclunk: { fid: u32 },
  Rclunk: {},
  Tremove: { fid: u32 },
  Rremove: {},
  Tstat: { fid: u32 },
  Rstat: { stat },
  Twstat: { fid: u32, stat },
  Rwstat: {},
};

export const types = Object.keys(fields) as Msg["type"][];

/** A message of type `type`. */
export function message(type: Msg["type"]): fc.Arbitrary<Msg> {
  return fc.record({ type: fc.constant(type), tag: u16, ...fields[type] }) as fc.Arbitrary<Msg>;
}

/** A message of any type. */
export const anyMessage: fc.Arbitrary<Msg> = fc.oneof(...types.map(message));
