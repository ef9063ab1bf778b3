/**
 * The EDSL: a tree is declared, not programmed. `leaf`, `dir` and `each` make plain records; build.ts checks them,
 * merge.ts joins the fragments of all plugins into one tree.
 */
import type { Principal } from "./principal.ts";
import type { Base, Scope } from "./scope.ts";
import type { Source } from "./source.ts";

/** What a handler gives: strings are encoded as UTF-8. */
export type Text = string | Uint8Array;

/**
 * Handler kinds. All are properties, never methods: methods are bivariant, and a session's file would then mount in the root.
 * A file has at most one of `stream` and `blockOnce`; `request` and `rdwr` exclude `read` and `write`.
 */
export interface Handlers<C> {
  /** Runs at the first read at offset 0 after an open: a snapshot for this fid. */
  read?: (c: C) => Text | Promise<Text>;
  /** Length for stat, in bytes, where it costs nothing; else stat says 0. */
  size?: (c: C) => number;
  /** qid.vers of files that change by themselves. */
  vers?: (c: C) => number;
  /** commit `message`: at each write. commit `close`: once, at the clunk, with all bytes. `data` views the receive buffer: copy to keep. */
  write?: (c: C, data: Uint8Array) => void | Promise<void>;
  /** commit `close` only: runs at each write, before bytes are taken; a throw refuses the write. `size` is the total so far. */
  check?: (c: C, size: number) => void;
  /**
   * Called at open and pulled once there, so that it has subscribed. Reads block until it gives something; its end is end of file.
   * A generator that waits has to listen to `c.signal`: when the reader is gone, nothing else can end the wait.
   */
  stream?: (c: C) => AsyncIterable<Text> | Source;
  /** Called at open (`last` undefined: the baseline is now), with the last answer at a later read at offset 0, and anew after a write while an answer is unread. */
  blockOnce?: (c: C, last?: Text) => Text | Promise<Text>;
  /** Runs at the first read after writes, with all bytes written; may stream. `body` undefined: read before any write, give the usage. */
  request?: (c: C, body?: Uint8Array) => Text | Promise<Text> | AsyncIterable<Text>;
  /** Runs at the write, so that errors fail the write; its reply is read next. `body` undefined: read before any write, give the usage. */
  rdwr?: (c: C, body?: Uint8Array) => Text | Promise<Text>;
}

export type Commit = "message" | "close";

export interface Meta<C> {
  /** Permission bits. Default: what the handlers allow (read 0444, write 0222, both 0666). */
  mode?: number;
  /** Owner and group; inherited from the directory above. */
  uid?: string;
  gid?: string;
  /** When a `write` takes effect. Default `message`. */
  commit?: Commit;
  /** Most bytes of one message or, with commit `close`, of all of them. Default 1 MiB. */
  max?: number;
  /** One sentence or more for help and docs: required, the declaration is the documentation. */
  doc: string;
  /** Rights that mode bits cannot say: a text refuses. Shown by help as `rights`. */
  deny?: (principal: Principal, op: "r" | "w", c: C) => string | undefined;
  /** One line that says in words what `deny` does. */
  rights?: string;
}

declare const contravariant: unique symbol;

export interface Leaf<in C> {
  readonly [contravariant]?: (c: C) => void;
  readonly kind: "leaf";
  readonly name: string;
  readonly spec: unknown;
}
export interface Dir<in C> {
  readonly [contravariant]?: (c: C) => void;
  readonly kind: "dir";
  readonly name: string;
  readonly meta: DirMeta;
  readonly children: readonly Node<never>[];
}
export interface Each<in C> {
  readonly [contravariant]?: (c: C) => void;
  readonly kind: "each";
  readonly scope: Scope<unknown>;
  readonly spec: unknown;
  readonly children: readonly Node<never>[];
}
export type Node<C> = Leaf<C> | Dir<C> | Each<C>;

export interface DirMeta {
  mode?: number;
  uid?: string;
  gid?: string;
  doc?: string;
}

/** How a directory of instances is listed, found, named, renamed and removed. All synchronous. */
export interface Instances<C, V extends object> extends Omit<DirMeta, "uid"> {
  list: (c: C) => Iterable<V>;
  /** By name; may accept other spellings (a UUID) for the same object. */
  get: (c: C, name: string) => V | undefined;
  /** What listings and stat show. Asked each time, so a rename needs no notice to the kernel. */
  name: (v: V) => string;
  /** Owner of the instance's directory and, by inheritance, of its files. */
  uid?: (v: V) => string;
  /** Twstat with a new name. Throw NineError to refuse. */
  rename?: (v: V, name: string, c: Base) => void | Promise<void>;
  /** Tremove on the directory. */
  remove?: (v: V, c: Base) => void | Promise<void>;
  /** Who may list, rename or remove: a text refuses. */
  deny?: (principal: Principal, op: "rename" | "remove", v: V) => string | undefined;
}

export type LeafSpec<C> = Meta<C> & Handlers<C>;

/** A file. */
export function leaf<C = Base>(name: string, spec: LeafSpec<C>): Leaf<C> {
  return { kind: "leaf", name, spec };
}

/** A directory of fixed names. */
export function dir<C = Base>(name: string, meta: DirMeta, ...children: Node<NoInfer<C>>[]): Dir<C> {
  return { kind: "dir", name, meta, children: children as readonly Node<never>[] };
}

/** One directory per instance of `scope`. Stands in the directory that the scope's path names. */
export function each<C, P, V extends object>(
  scope: Scope<C, P, V>,
  spec: Instances<NoInfer<P>, NoInfer<V>>,
  ...children: Node<NoInfer<C>>[]
): Each<P> {
  return { kind: "each", scope, spec, children: children as readonly Node<never>[] };
}

/** A cheap file whose text is at hand: gives `read` and `size`, so that stat tells its length. */
export function text<C>(give: (c: C) => string): { read: (c: C) => Text; size: (c: C) => number } {
  return { read: give, size: (c) => Buffer.byteLength(give(c)) };
}
