/** Open files of a tree without kernel and protocol, as a protocol would use them. */
import { Buffer } from "node:buffer";
import {
  type Abort,
  type Base,
  buildTree,
  type LeafSpec,
  lazyAbort,
  leaf,
  type OpenFile,
  type Principal,
  type Tree,
  type TreeOptions,
} from "ollie/tree";

export const user: Principal = { name: "glenda", groups: [], kind: "user" };
export const agent = (id = "a-1", session = "s-1"): Principal => ({
  name: id,
  groups: ["agent", `s:${session}`],
  kind: "agent",
  agent: id,
  session,
});

/** Opens the one file of a tree that has no other. */
export function fileOf(spec: LeafSpec<Base>, options: Partial<TreeOptions> = {}) {
  const tree = buildTree([leaf("file", spec)], options);
  return { tree, open: (how = {}) => openAt(tree, "/file", how) };
}

export function openAt(
  tree: Tree,
  path: string,
  how: { read?: boolean; write?: boolean; trunc?: boolean; as?: Principal } = {},
): Opened {
  const { read = true, write = false, trunc = false, as = user } = how;
  return opened(tree.open(tree.find(path, as), as, { read, write, trunc }));
}

export interface Opened {
  read(offset?: number, count?: number, abort?: Abort): Promise<string>;
  write(data: string, abort?: Abort): Promise<number>;
  /** The clunk. */
  close(): Promise<void>;
  /** The connection ended. */
  drop(): Promise<void>;
  length(): number | undefined;
}

function opened(file: OpenFile): Opened {
  const close = (commit: boolean) => new Promise<void>((ok, fail) => file.close(commit, { ok, fail }));
  return {
    read: (offset = 0, count = 8192, abort = lazyAbort()) =>
      new Promise((ok, fail) =>
        file.read(offset, count, { abort, ok: (data) => ok(Buffer.from(data).toString("utf8")), fail }),
      ),
    write: (data, abort = lazyAbort()) => new Promise((ok, fail) => file.write(Buffer.from(data), { abort, ok, fail })),
    close: () => close(true),
    drop: () => close(false),
    length: () => file.length(),
  };
}

/** `pending` unless `promise` has settled by now. */
export async function stateOf(promise: Promise<unknown>): Promise<unknown> {
  for (let i = 0; i < 5; i++) await new Promise((done) => setImmediate(done));
  return Promise.race([promise, Promise.resolve("pending")]);
}
