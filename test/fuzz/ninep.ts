/** What a broken or hostile 9P client may send: random bytes, damaged messages, sizes that lie, good messages in bad order. */
import { encode, type Msg, NOFID, NOTAG, type Tmsg } from "../../core/ninep/codec.ts";
import type { Random } from "./random.ts";

const names = [
  "hello",
  "slow",
  "commit",
  "ctl",
  "ask",
  "news",
  "next",
  "broken",
  "long",
  "many",
  "first",
  "box",
  "one",
];
const odd = ["", ".", "..", "a/b", "__proto__", "\u{1f600}", "x".repeat(300), "new\nline"];
const fids = [0, 1, 2, 3, 4, 5, NOFID];
const sizes = [0, 1, 3, 6, 7, 8, 0x7fffffff, 0x80000000, 0xfffffffb, 0xffffffff];

/** One message with fields that often fit together: few fids, few tags, names that are there. */
export function anyRequest(r: Random): Tmsg {
  const tag = r.int(50) === 0 ? NOTAG : r.int(40);
  const fid = r.pick(fids);
  const name = () => (r.int(6) === 0 ? r.pick(odd) : r.pick(names));
  const offset = r.pick([0, 0, 0, 5, 100, 2 ** 40]);
  switch (r.int(14)) {
    case 0:
      return r.int(12) > 0
        ? { type: "Tstat", tag, fid }
        : { type: "Tversion", tag: NOTAG, msize: r.pick([0, 256, 8192, 1 << 20, 0xffffffff]), version: "9P2000" };
    case 1:
      return { type: "Tattach", tag, fid, afid: NOFID, uname: r.pick(["glenda", "other", "nobody"]), aname: "" };
    case 2:
    case 3:
    case 4:
      return { type: "Twalk", tag, fid, newfid: r.pick(fids), wname: Array.from({ length: r.int(4) }, name) };
    case 5:
    case 6:
      return { type: "Topen", tag, fid, mode: r.pick([0, 0, 1, 2, 2, 3, 16, 17, 18, 64, 255]) };
    case 7:
    case 8:
      return { type: "Tread", tag, fid, offset, count: r.pick([0, 10, 100, 65536, 0xffffffff]) };
    case 9:
      return { type: "Twrite", tag, fid, offset, data: r.bytes(r.pick([0, 1, 5, 20, 2000])) };
    case 10:
      return { type: r.int(4) > 0 ? "Tclunk" : "Tremove", tag, fid };
    case 11:
      return { type: "Tflush", tag, oldtag: r.int(40) };
    case 12:
      return { type: "Tcreate", tag, fid, name: name(), perm: r.int(2) * 0x80000000, mode: 1 };
    default:
      return { type: "Twstat", tag, fid, stat: wstat(r, name()) };
  }
}

function wstat(r: Random, name: string) {
  const qid = { type: -1, vers: -1, path: -1 };
  const rest = {
    dev: -1,
    qid,
    mode: r.pick([-1, 0o644]),
    atime: -1,
    mtime: r.pick([-1, 5]),
    length: r.pick([-1, 0, 9]),
  };
  return { type: -1, ...rest, name: r.int(2) > 0 ? name : "", uid: "", gid: "", muid: "" };
}

/** What a client says first, so that the rest is looked at. */
export const hello = (): Buffer =>
  Buffer.concat(
    (
      [
        { type: "Tversion", tag: NOTAG, msize: 8192, version: "9P2000" },
        { type: "Tattach", tag: 0, fid: 0, afid: NOFID, uname: "glenda", aname: "" },
      ] satisfies Msg[]
    ).map(encode),
  );

/** Bytes of one connection, and the requests in them where they are all good. */
export interface Attack {
  bytes: Buffer;
  requests?: Tmsg[];
}

export function attack(r: Random): Attack {
  const requests = Array.from({ length: 1 + r.int(60) }, () => anyRequest(r));
  const good = requests.map(encode);
  switch (r.int(6)) {
    case 0:
      return { bytes: r.bytes(r.int(500)) };
    case 1:
      return { bytes: Buffer.concat([hello(), ...good.map((one) => damaged(r, one))]) };
    case 2:
      return { bytes: Buffer.concat([hello(), ...good, lying(r)]) };
    case 3: {
      const bytes = Buffer.concat([hello(), ...good]);
      return { bytes: bytes.subarray(0, r.int(bytes.length)) };
    }
    default:
      return { bytes: Buffer.concat([hello(), ...good]), requests };
  }
}

/** Some bytes changed, or the end cut off with a size that fits: the message is whole, what it says is not. */
function damaged(r: Random, message: Buffer): Buffer {
  const copy = Buffer.from(message);
  if (r.int(3) === 0) {
    const cut = copy.subarray(0, 7 + r.int(copy.length - 6));
    cut.writeUInt32LE(cut.length, 0);
    return cut;
  }
  for (let n = 1 + r.int(3); n > 0; n--) copy[4 + r.int(copy.length - 4)] = r.int(256);
  return copy;
}

function lying(r: Random): Buffer {
  const head = Buffer.alloc(7 + r.int(20));
  head.writeUInt32LE(r.pick(sizes), 0);
  head.writeUInt8(100 + r.int(30), 4);
  return head;
}
