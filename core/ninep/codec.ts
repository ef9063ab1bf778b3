/** 9P2000 messages to bytes and back: section 5 of the Plan 9 manual, one case for each type. */
import { MAXWELEM, type Msg, type Qid, type Stat } from "./message.ts";
import { bad, get8, get16, get32, get64, getData, getQid, getStat, getString, getTag, left, readFrom } from "./wire.ts";

export { encode, encodeInto, encodeRstat, encodeStat, sizeOf } from "./encode.ts";
export * from "./message.ts";
export { statSize } from "./wire.ts";

/**
 * The message in `buf` from `start` to `end`, which holds one whole message with its leading size. `data` of a Twrite or
 * Rread is a view into `buf`. An offset over 2^53 is rounded: it is past the end of everything. Throws ProtocolError and nothing else; its tag is set when the message was long enough.
 */
export function decode(buf: Buffer, start: number, end: number): Msg {
  readFrom(buf, start, end);
  const size = get32();
  const type = get8();
  const tag = getTag();
  if (size !== end - start) throw bad("message size is wrong");
  const msg = body(type, tag);
  if (left() !== 0) throw bad("message has bytes after its end");
  return msg;
}

function body(type: number, tag: number): Msg {
  // Fields are read in the order in which they are written here, which is that of the wire.
  switch (type) {
    case 100:
      return { type: "Tversion", tag, msize: get32(), version: getString() };
    case 101:
      return { type: "Rversion", tag, msize: get32(), version: getString() };
    case 102:
      return { type: "Tauth", tag, afid: get32(), uname: getString(), aname: getString() };
    case 103:
      return { type: "Rauth", tag, aqid: getQid() };
    case 104:
      return { type: "Tattach", tag, fid: get32(), afid: get32(), uname: getString(), aname: getString() };
    case 105:
      return { type: "Rattach", tag, qid: getQid() };
    case 107:
      return { type: "Rerror", tag, ename: getString() };
    case 108:
      return { type: "Tflush", tag, oldtag: get16() };
    case 109:
      return { type: "Rflush", tag };
    case 110:
      return { type: "Twalk", tag, fid: get32(), newfid: get32(), wname: getNames() };
    case 111:
      return { type: "Rwalk", tag, wqid: getQids() };
    case 112:
      return { type: "Topen", tag, fid: get32(), mode: get8() };
    case 113:
      return { type: "Ropen", tag, qid: getQid(), iounit: get32() };
    case 114:
      return { type: "Tcreate", tag, fid: get32(), name: getString(), perm: get32(), mode: get8() };
    case 115:
      return { type: "Rcreate", tag, qid: getQid(), iounit: get32() };
    case 116:
      return { type: "Tread", tag, fid: get32(), offset: get64(), count: get32() };
    case 117:
      return { type: "Rread", tag, data: getData() };
    case 118:
      return { type: "Twrite", tag, fid: get32(), offset: get64(), data: getData() };
    case 119:
      return { type: "Rwrite", tag, count: get32() };
    case 120:
      return { type: "Tclunk", tag, fid: get32() };
    case 121:
      return { type: "Rclunk", tag };
    case 122:
      return { type: "Tremove", tag, fid: get32() };
    case 123:
      return { type: "Rremove", tag };
    case 124:
      return { type: "Tstat", tag, fid: get32() };
    case 125:
      return { type: "Rstat", tag, stat: getNestedStat() };
    case 126:
      return { type: "Twstat", tag, fid: get32(), stat: getNestedStat() };
    case 127:
      return { type: "Rwstat", tag };
    default:
      throw bad(`message type ${type} is unknown`);
  }
}

function getNames(): string[] {
  const names: string[] = [];
  for (let n = getElements(); n > 0; n--) names.push(getString());
  return names;
}

function getQids(): Qid[] {
  const qids: Qid[] = [];
  for (let n = getElements(); n > 0; n--) qids.push(getQid());
  return qids;
}

function getElements(): number {
  const n = get16();
  if (n > MAXWELEM) throw bad(`walk of more than ${MAXWELEM} names`);
  return n;
}

/** In Rstat and Twstat the stat stands inside a counted field, so its size is there twice: stat(5). */
function getNestedStat(): Stat {
  if (get16() !== left()) throw bad("stat has a wrong size");
  return getStat();
}

/** The stat at `at` of a directory read; the next one starts at `at + 2 + buf.readUInt16LE(at)`. Throws ProtocolError. */
export function decodeStat(buf: Buffer, at: number): Stat {
  readFrom(buf, at, buf.length);
  return getStat();
}
