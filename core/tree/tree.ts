/** The tree as a protocol uses it: walk, list, stat, open, rename, remove. Knows nothing of 9P. */
import { NineError, OllieError, Rerror } from "../errors.ts";
import { isThenable } from "../thenable.ts";
import { type Answer, contextFor, type Guard, guard } from "./call.ts";
import { type Fragment, merge, nodes } from "./merge.ts";
import { type OpenFile, type OpenOptions, openFile } from "./modes.ts";
import {
  type BuiltDir,
  type BuiltEach,
  child,
  gidOf,
  instance,
  isEnded,
  isPlain,
  type Lives,
  lives,
  nameOf,
  type Owner,
  owner,
  uidOf,
  type Vnode,
} from "./node.ts";
import { allowed, checkOpen, execBit, readBit, refusal } from "./perm.ts";
import type { Principal } from "./principal.ts";
import { type Base, Root, type Scope } from "./scope.ts";
import type { Node } from "./spec.ts";

/** What stat says of a node; times are seconds since the epoch. */
export interface NodeStat {
  name: string;
  dir: boolean;
  /** Permission bits only. */
  mode: number;
  uid: string;
  gid: string;
  length: number;
  vers: number;
  path: number;
  time: number;
}

export interface Tree {
  readonly root: Vnode;
  readonly lives: Lives;
  readonly guard: Guard;
  /** Fragments whose scope nobody serves. */
  readonly waiting: readonly Fragment[];
  /** Builds aside from `fragments` and swaps; throws OllieError with all faults, and then nothing has changed. */
  rebuild(fragments: readonly Fragment[]): void;
  /** One name below `v`; `..` of the root is the root. Undefined: not there. Throws NineError. */
  step(v: Vnode, name: string, principal: Principal): Vnode | undefined;
  /** A whole path; throws NineError. */
  find(path: string, principal: Principal): Vnode;
  /** Throws NineError unless `principal` may read the directory `v`. */
  mayList(v: Vnode, principal: Principal): void;
  list(v: Vnode, principal: Principal): Vnode[];
  stat(v: Vnode, principal: Principal): NodeStat;
  /** qid.vers: of a file that says it itself, else a count of writes and of reads that gave something new. */
  vers(v: Vnode, principal: Principal): number;
  open(v: Vnode, principal: Principal, options: OpenOptions): OpenFile;
  mayWrite(v: Vnode, principal: Principal): boolean;
  rename(v: Vnode, name: string, principal: Principal, answer: Answer<void>): void;
  remove(v: Vnode, principal: Principal, answer: Answer<void>): void;
  /** Whether a literal name stands where an instance of `scope` would. */
  taken(scope: Scope<unknown>, name: string): boolean;
}

export interface TreeOptions {
  /** Milliseconds for read, write and rdwr handlers. Default 60,000. */
  handlerLimit?: number | undefined;
  /** Owner of the root. */
  user: string;
  report(plugin: string, path: string, error: unknown): void;
  runAs<T>(plugin: string, fn: () => T): T;
}

export function createTree(options: TreeOptions): Tree {
  const all = lives();
  const guarded = guard({ ...options, handlerLimit: options.handlerLimit ?? 60_000 });
  const time = Math.floor(Date.now() / 1000);
  let root = rootNode(merge([], options.user).root, all);
  let waiting: readonly Fragment[] = [];
  /** Directories of the present build by spec path: a fid that was walked in an earlier one goes on in this one. */
  let dirs = new Map<string, BuiltDir>([["/", root.spec as BuiltDir]]);
  const present = (v: Vnode): BuiltDir => {
    if (v.spec.kind !== "dir") throw new NineError(Rerror.notDir);
    const dir = dirs.get(v.spec.path);
    if (!dir) throw new NineError(`${v.spec.owner.name}: plugin stopped`);
    return dir;
  };

  const context = (v: Vnode, principal: Principal) => contextFor(v, {}, principal);
  /** Synchronous plugin code that finds instances: its faults are the caller's error. */
  const find = <T>(own: Owner, v: Vnode, fn: (v: Vnode) => T, verb = "walk"): T => {
    try {
      return guarded.host.runAs(own.name, () => fn(v));
    } catch (error) {
      throw guarded.errorOf(own, verb, v, error);
    }
  };
  const numberOf = (v: Vnode, principal: Principal, fn: (c: Base) => number): number =>
    find(v.spec.owner, v, () => fn(context(v, principal)));
  /** Throws what `deny` of the instances says to `op`; without one they are the user's alone. */
  const checkDeny = (each: BuiltEach, principal: Principal, op: "rename" | "remove", value: object): void => {
    if (principal.kind === "user") return;
    const why = each.spec.deny ? each.spec.deny(principal, op, value) : Rerror.perm;
    if (why !== undefined) throw refusal(why);
  };

  const tree: Tree = {
    get root() {
      return root;
    },
    lives: all,
    guard: guarded,
    get waiting() {
      return waiting;
    },
    rebuild(fragments) {
      const merged = merge(fragments, options.user);
      const faults = [...merged.faults, ...merged.conflicts];
      if (faults.length > 0)
        throw new OllieError(merged.faults.length > 0 ? "E_SPEC" : "E_CONFLICT", faults.join("\n"));
      waiting = merged.waiting;
      root = rootNode(merged.root, all);
      dirs = new Map([...nodes(merged.root)].filter((one) => one.kind === "dir").map((dir) => [dir.path, dir]));
    },
    step(v, name, principal) {
      if (v.spec.kind === "dir" && name === "..") return v.parent ?? v;
      const dir = present(v);
      if (!allowed(v, principal, execBit)) throw new NineError(Rerror.perm);
      if (isEnded(v.life)) return undefined;
      const literal = dir.children.get(name);
      if (literal) return child(v, literal, all);
      const each = dir.each;
      if (!each) return undefined;
      const value = find(each.owner, v, () => instanceOf(each.spec.get(context(v, principal), name), "get"));
      return value === undefined ? undefined : instance(v, each, value, all);
    },
    find(path, principal) {
      let at = root;
      for (const name of path.split("/")) {
        if (name === "") continue;
        const next = tree.step(at, name, principal);
        if (!next) throw new NineError(Rerror.notFound);
        at = next;
      }
      return at;
    },
    mayList(v, principal) {
      if (isEnded(v.life)) throw new NineError(Rerror.removed);
      if (!allowed(v, principal, readBit)) throw new NineError(Rerror.perm);
    },
    list(v, principal) {
      const dir = present(v);
      tree.mayList(v, principal);
      const found = [...dir.children.values()].map((spec) => child(v, spec, all));
      const each = dir.each;
      if (!each) return found;
      // A literal name wins over an instance.
      const below = find(each.owner, v, () =>
        [...each.spec.list(context(v, principal))]
          .flatMap((value) => instanceOf(value, "list") ?? [])
          .map((value) => instance(v, each, value, all))
          .filter((one) => !dir.children.has(nameOf(one))),
      );
      return [...found, ...below];
    },
    stat(v, principal) {
      const { spec } = v;
      if (isEnded(v.life)) throw new NineError(Rerror.removed);
      const size = spec.kind === "file" && !spec.owner.stopped ? spec.spec.size : undefined;
      // No function is made here: with one in it this would take twice as long.
      const length = size ? numberOf(v, principal, size) : 0;
      const vers = tree.vers(v, principal);
      const name = v.each ? find(spec.owner, v, nameOf) : v.parent ? spec.name : "/";
      const uid = isPlain(v) ? uidOf(v) : find(spec.owner, v, uidOf);
      const dir = spec.kind === "dir";
      return { name, dir, mode: spec.mode, uid, gid: gidOf(v), length, vers, path: v.qid.path, time };
    },
    vers(v, principal) {
      const { spec } = v;
      const vers = spec.kind === "file" && !spec.owner.stopped && !isEnded(v.life) ? spec.spec.vers : undefined;
      return vers ? numberOf(v, principal, vers) >>> 0 : v.qid.vers;
    },
    open(v, principal, how) {
      if (v.spec.kind !== "file") throw new NineError(Rerror.isDir);
      const check = () => checkOpen(v, principal, how.read, how.write || how.trunc);
      if (v.spec.spec.deny) find(v.spec.owner, v, check, "open");
      else check();
      if (v.spec.owner.stopped) throw new NineError(`${v.spec.owner.name}: plugin stopped`);
      if (isEnded(v.life)) throw new NineError(Rerror.removed);
      return openFile(v, principal, how, guarded);
    },
    mayWrite(v, principal) {
      try {
        checkOpen(v, principal, false, true);
      } catch {
        return false;
      }
      return v.spec.kind === "file";
    },
    rename(v, name, principal, answer) {
      const each = v.each;
      const rename = each?.spec.rename;
      if (!each || !rename) return answer.fail(new NineError(Rerror.wstat));
      if (isEnded(v.life)) return answer.fail(new NineError(Rerror.removed));
      const run = () => {
        checkDeny(each, principal, "rename", v.life.value);
        if (v.parent && present(v.parent).children.has(name))
          throw new NineError(`${JSON.stringify(name)} is reserved`);
        return rename(v.life.value, name, context(v, principal));
      };
      guarded.run(each.owner, "rename", v, 0, run, answer);
    },
    remove(v, principal, answer) {
      const each = v.each;
      const remove = each?.spec.remove;
      if (!each || !remove) return answer.fail(new NineError(Rerror.perm));
      if (isEnded(v.life)) return answer.fail(new NineError(Rerror.removed));
      const run = () => {
        checkDeny(each, principal, "remove", v.life.value);
        return remove(v.life.value, context(v, principal));
      };
      guarded.run(each.owner, "remove", v, 0, run, answer);
    },
    taken(scope, name) {
      const dir = scopeParent(root.spec as BuiltDir, scope);
      return dir?.children.has(name) ?? false;
    },
  };
  return tree;
}

/** What `get` or `list` gave: an instance is known by its identity, so it must be an object, and at hand. */
function instanceOf(value: object | undefined | null, from: string): object | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "object" || isThenable(value))
    throw new TypeError(`${from} gave a ${typeof value === "object" ? "promise" : typeof value}, not an object`);
  return value;
}

const rootNode = (spec: BuiltDir, all: Lives): Vnode => ({
  spec,
  parent: undefined,
  life: all.root,
  values: {},
  each: undefined,
  qid: all.qid(all.root, "/"),
});

/** The directory in whose place a scope's instances stand. */
function scopeParent(dir: BuiltDir, scope: Scope<unknown>): BuiltDir | undefined {
  if (dir.each?.scope.path === scope.path) return dir;
  for (const node of dir.children.values()) {
    const found = node.kind === "dir" ? scopeParent(node, scope) : undefined;
    if (found) return found;
  }
  return dir.each ? scopeParent(dir.each.dir, scope) : undefined;
}

/**
 * A tree of one owner's nodes, without kernel or plugins: for other protocols, and for tests.
 * Throws OllieError with all faults of the spec.
 */
export function buildTree(top: readonly Node<import("./scope.ts").Base>[], options: Partial<TreeOptions> = {}): Tree {
  const tree = createTree({ user: "none", report() {}, runAs: (_plugin, fn) => fn(), ...options });
  tree.rebuild([{ owner: owner("tree"), scope: Root, nodes: top as readonly Node<never>[] }]);
  return tree;
}
