/** The tree for programs in the same process: `k.fs`. Same rights, same state machines, no socket. */
import type { NineError } from "./errors.ts";
import { lazyAbort } from "./tree/call.ts";
import type { OpenFile } from "./tree/modes.ts";
import { nameOf } from "./tree/node.ts";
import type { Principal } from "./tree/principal.ts";
import type { Text } from "./tree/spec.ts";
import type { Tree } from "./tree/tree.ts";

export interface FsStat {
  name: string;
  dir: boolean;
  mode: number;
  uid: string;
  gid: string;
  length: number;
  qid: { type: number; vers: number; path: number };
}

/** The tree without a socket, for tests and embedders. Paths start at the root; errors are NineError with the Rerror's text. */
export interface KernelFs {
  /** Reads to the end. A blocking file is read once. */
  read(path: string): Promise<string>;
  /** Opens, writes, closes: the write has taken effect when this resolves. */
  write(path: string, data: Text): Promise<void>;
  /** Writes, then reads the reply on the same fid. */
  rdwr(path: string, body: Text): Promise<string>;
  /** What a blocking file gives, until its end or until the loop is left. */
  stream(path: string): AsyncIterable<string>;
  ls(path: string): Promise<string[]>;
  stat(path: string): Promise<FsStat>;
  remove(path: string): Promise<void>;
  rename(path: string, name: string): Promise<void>;
  /** The same tree seen by somebody else. */
  as(principal: Principal): KernelFs;
}

const chunk = 64 * 1024;

export function kernelFs(tree: () => Tree, principal: Principal): KernelFs {
  const open = (path: string, read: boolean, write: boolean) =>
    tree().open(tree().find(path, principal), principal, { read, write, trunc: false });
  const readAll = async (file: OpenFile): Promise<string> => {
    const parts: Uint8Array[] = [];
    for (let offset = 0; ; ) {
      const data = await readOnce(file, offset);
      if (data.length === 0) return Buffer.concat(parts).toString("utf8");
      parts.push(data);
      offset += data.length;
      if (file.node.spec.kind === "file" && file.node.spec.spec.stream) return Buffer.concat(parts).toString("utf8");
    }
  };
  const within = async <T>(file: OpenFile, act: () => Promise<T>): Promise<T> => {
    let result: T;
    try {
      result = await act();
    } catch (error) {
      await close(file, false);
      throw error;
    }
    await close(file, true);
    return result;
  };
  return {
    read: async (path) => {
      const file = open(path, true, false);
      return within(file, () => readAll(file));
    },
    write: async (path, data) => {
      const file = open(path, false, true);
      return within(file, () => write(file, data));
    },
    rdwr: async (path, body) => {
      const file = open(path, true, true);
      return within(file, async () => {
        await write(file, body);
        return readAll(file);
      });
    },
    async *stream(path) {
      const file = open(path, true, false);
      const decoder = new TextDecoder();
      try {
        for (let offset = 0; ; ) {
          const data = await readOnce(file, offset);
          if (data.length === 0) return;
          offset += data.length;
          yield decoder.decode(data, { stream: true });
        }
      } finally {
        await close(file, false);
      }
    },
    async ls(path) {
      return tree().list(tree().find(path, principal), principal).map(nameOf);
    },
    async stat(path): Promise<FsStat> {
      const {
        name,
        dir,
        mode,
        uid,
        gid,
        length,
        vers,
        path: qid,
      } = tree().stat(tree().find(path, principal), principal);
      return { name, dir, mode, uid, gid, length, qid: { type: dir ? 0x80 : 0, vers, path: qid } };
    },
    remove: async (path) => {
      const node = tree().find(path, principal);
      await new Promise<void>((ok, fail) => tree().remove(node, principal, { ok, fail }));
    },
    rename: async (path, name) => {
      const node = tree().find(path, principal);
      await new Promise<void>((ok, fail) => tree().rename(node, name, principal, { ok, fail }));
    },
    as: (other) => kernelFs(tree, other),
  };
}

const readOnce = (file: OpenFile, offset: number): Promise<Uint8Array> =>
  new Promise((ok, fail) => file.read(offset, chunk, { abort: lazyAbort(), ok, fail }));

async function write(file: OpenFile, data: Text): Promise<void> {
  const bytes = typeof data === "string" ? Buffer.from(data, "utf8") : data;
  await new Promise<number>((ok, fail) => file.write(bytes, { abort: lazyAbort(), ok, fail }));
}

const close = (file: OpenFile, commit: boolean): Promise<void> =>
  new Promise((ok, fail: (error: NineError) => void) => file.close(commit, { ok, fail }));
