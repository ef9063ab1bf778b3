/** Fids of one connection, and what an open directory gives to read. */
import { NineError, Rerror } from "../errors.ts";
import type { Few } from "../few.ts";
import type { NodeStat, OpenFile, Principal, Tree, Vnode } from "../tree/index.ts";
import { DMDIR, encodeRstat, encodeStat, type Qid, QTDIR, QTFILE, type Stat } from "./codec.ts";
import type { Line, Request } from "./requests.ts";

export interface Fid {
  node: Vnode;
  readonly principal: Principal;
  file: OpenFile | undefined;
  directory: DirectoryRead | undefined;
  /** Reads that are not answered yet: a clunk cancels them. */
  reads: Few<Request> | undefined;
  /** Messages that wait for a write or rename; made when there is one. */
  line: Line | undefined;
}

export const newFid = (node: Vnode, principal: Principal): Fid => ({
  node,
  principal,
  file: undefined,
  directory: undefined,
  reads: undefined,
  line: undefined,
});

export const isOpen = (fid: Fid): boolean => fid.file !== undefined || fid.directory !== undefined;

export const qidOf = (tree: Tree, node: Vnode, principal: Principal): Qid => ({
  type: node.spec.kind === "dir" ? QTDIR : QTFILE,
  vers: tree.vers(node, principal),
  path: node.qid.path,
});

/** stat(5) of a node; `length` is that of an open fid's snapshot, where there is one. */
export const statOf = (tree: Tree, node: Vnode, principal: Principal, length?: number): Stat =>
  toStat(tree.stat(node, principal), length);

function toStat(s: NodeStat, length?: number): Stat {
  return {
    type: 0,
    dev: 0,
    qid: { type: s.dir ? QTDIR : QTFILE, vers: s.vers, path: s.path },
    mode: s.dir ? (DMDIR | s.mode) >>> 0 : s.mode,
    atime: s.time,
    mtime: s.time,
    length: length ?? s.length,
    name: s.name,
    uid: s.uid,
    gid: s.gid,
    muid: s.uid,
  };
}

/** What the last Tstat of a file said, as bytes: most files say the same again, and strings are what costs. */
const stats = new WeakMap<object, { of: NodeStat; length: number | undefined; body: Uint8Array }>();

/** The body of an Rstat. */
export function rstatOf(tree: Tree, node: Vnode, principal: Principal, length?: number): Uint8Array {
  const now = tree.stat(node, principal);
  const last = stats.get(node.qid);
  if (last && last.length === length && isSame(last.of, now)) return last.body;
  const body = encodeRstat(toStat(now, length));
  stats.set(node.qid, { of: now, length, body });
  return body;
}

const isSame = (a: NodeStat, b: NodeStat): boolean =>
  a.vers === b.vers &&
  a.length === b.length &&
  a.name === b.name &&
  a.mode === b.mode &&
  a.uid === b.uid &&
  a.gid === b.gid &&
  a.path === b.path &&
  a.time === b.time &&
  a.dir === b.dir;

export interface DirectoryRead {
  /** Whole entries only. Throws NineError at an offset that is neither 0 nor where the last read ended. */
  read(offset: number, count: number): Uint8Array;
}

/** read(5) of a directory: a listing taken at offset 0, given out in whole entries. */
export function directoryRead(tree: Tree, node: Vnode, principal: Principal): DirectoryRead {
  let entries: Buffer[] = [];
  let next = 0;
  let at = 0;
  return {
    read(offset, count) {
      if (offset === 0) {
        entries = tree.list(node, principal).map((one) => encodeStat(statOf(tree, one, principal)));
        next = 0;
        at = 0;
      } else if (offset !== at) throw new NineError(Rerror.badOffset);
      const from = next;
      let size = 0;
      for (; next < entries.length; next++) {
        const length = entries[next]?.length ?? 0;
        if (size + length > count) break;
        size += length;
      }
      if (size === 0 && count > 0 && next < entries.length)
        throw new NineError(`count ${count} is too small for a directory entry of ${entries[next]?.length} bytes`);
      at += size;
      return Buffer.concat(entries.slice(from, next), size);
    },
  };
}
