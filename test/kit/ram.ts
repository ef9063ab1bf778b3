/** A tree whose files store bytes at offsets, as no file of ollie does: for what the server does with them. */

import { NineError, Rerror } from "../../core/errors.ts";
import type { OpenFile, Tree, Vnode } from "../../core/tree/index.ts";

interface RamFile {
  name: string;
  bytes: Buffer;
}

/** One directory of files. Whole writes land where they say, gaps are zeros, OTRUNC empties, removing and renaming work. */
export function ramTree(texts: Record<string, string>): Tree {
  let next = 1;
  const owner = { name: "ram", stopped: false, opens: new Set<never>() };
  const life = { value: {}, parent: undefined, ended: false, opens: new Set<never>(), qids: new Map() };
  const shared = { owner, mode: 0o666, uid: "glenda", gid: "glenda", doc: "" };
  const base = { life, values: {}, each: undefined };
  const root = {
    ...base,
    spec: { ...shared, kind: "dir", name: "", path: "/", mode: 0o777, children: new Map(), each: undefined },
    parent: undefined,
    qid: { path: 0, vers: 0, last: undefined },
  } as unknown as Vnode;
  const files = new Map<Vnode, RamFile>();
  for (const [name, text] of Object.entries(texts)) {
    const spec = { ...shared, kind: "file", name, path: `/${name}`, spec: { doc: "bytes" } };
    const qid = { path: next++, vers: 0, last: undefined };
    files.set({ ...base, spec, parent: root, qid } as unknown as Vnode, { name, bytes: Buffer.from(text) });
  }
  const of = (v: Vnode): RamFile => {
    const file = files.get(v);
    if (!file) throw new NineError(Rerror.removed);
    return file;
  };
  const named = (name: string): Vnode | undefined => [...files].find(([, file]) => file.name === name)?.[0];
  const tree: Partial<Tree> = {
    root,
    step: (v, name) => {
      if (v !== root) throw new NineError(Rerror.notDir);
      return name === ".." ? root : named(name);
    },
    mayList() {},
    list: () => [...files.keys()],
    vers: (v) => v.qid.vers,
    stat: (v) => ({
      name: v === root ? "/" : of(v).name,
      dir: v === root,
      mode: v.spec.mode,
      uid: "glenda",
      gid: "glenda",
      length: v === root ? 0 : of(v).bytes.length,
      vers: v.qid.vers,
      path: v.qid.path,
      time: 0,
    }),
    open: (v, _who, how): OpenFile => {
      const file = of(v);
      if (how.trunc) file.bytes = Buffer.alloc(0);
      if (how.trunc) v.qid.vers++;
      const bad = new NineError(Rerror.badUse);
      return {
        node: v,
        read(offset, count, answer) {
          if (how.read) answer.ok(file.bytes.subarray(offset, offset + count));
          else answer.fail(bad);
        },
        write(data, answer, offset = 0) {
          if (!how.write) return answer.fail(bad);
          const larger = Buffer.alloc(Math.max(file.bytes.length, offset + data.length));
          larger.set(file.bytes);
          larger.set(data, offset);
          file.bytes = larger;
          v.qid.vers++;
          answer.ok(data.length);
        },
        close: (_commit, answer) => answer.ok(),
        length: () => undefined,
      };
    },
    mayWrite: (v) => v !== root,
    rename(v, name, _who, answer) {
      if (named(name)) return answer.fail(new NineError(Rerror.exists));
      of(v).name = name;
      answer.ok();
    },
    remove(v, _who, answer) {
      if (v === root) return answer.fail(new NineError(Rerror.perm));
      files.delete(v);
      answer.ok();
    },
  };
  return tree as Tree;
}
