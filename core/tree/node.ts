/**
 * The built tree: specs joined into directories and files, instances with their lives, and nodes as a walk finds them.
 * Qid paths are counters per (instance, spec path), kept on the instance and never used again.
 */
import type { Principal } from "./principal.ts";
import type { Base, Scope } from "./scope.ts";
import type { Instances, LeafSpec, Text } from "./spec.ts";

/** Whose rows these are. One record per plugin, shared by all its nodes. */
export interface Owner {
  readonly name: string;
  stopped: boolean;
  /** Open files that may be blocked, to wake when the plugin stops. */
  readonly opens: Set<Ending>;
}

export const owner = (name: string): Owner => ({ name, stopped: false, opens: new Set() });

/** An open file that can be ended from outside. */
export interface Ending {
  /** Blocked reads get their end (no cause: the instance is gone) or the error. */
  end(cause?: Error): void;
}

interface Built {
  readonly name: string;
  /** Spec path: `/session/{name}/ctl`. */
  readonly path: string;
  readonly owner: Owner;
  readonly mode: number;
  readonly uid: string | undefined;
  readonly gid: string | undefined;
  readonly doc: string;
}

export interface BuiltFile extends Built {
  readonly kind: "file";
  readonly spec: LeafSpec<Base>;
}

export interface BuiltDir extends Built {
  readonly kind: "dir";
  readonly children: Map<string, BuiltNode>;
  each: BuiltEach | undefined;
}

export interface BuiltEach {
  readonly owner: Owner;
  readonly scope: Scope<unknown>;
  readonly spec: Instances<Base, object>;
  /** The template of every instance's directory. */
  readonly dir: BuiltDir;
}

export type BuiltNode = BuiltFile | BuiltDir;

/** What lasts as long as an instance does (the root is one). */
export interface Life {
  readonly value: object;
  readonly parent: Life | undefined;
  ended: boolean;
  readonly opens: Set<Ending>;
  readonly qids: Map<string, QidState>;
}

export interface QidState {
  readonly path: number;
  vers: number;
  /** What the last read gave: the same again keeps `vers`, and its bytes serve again. Null: it was not kept. */
  last: { value: Text; bytes: Uint8Array } | null | undefined;
  /** The node as it was walked to last: the same walk makes no other. */
  node?: Vnode;
}

/** The lives of all instances of one tree, across rebuilds. */
export interface Lives {
  readonly root: Life;
  of(value: object, parent: Life): Life;
  qid(life: Life, specPath: string): QidState;
  /** Marks an instance as gone and ends what is open below it. */
  end(value: object): void;
}

export function lives(): Lives {
  let next = 0;
  const table = new WeakMap<object, Life>();
  const make = (value: object, parent: Life | undefined): Life => {
    const life: Life = { value, parent, ended: false, opens: new Set(), qids: new Map() };
    table.set(value, life);
    return life;
  };
  const root = make({}, undefined);
  return {
    root,
    of: (value, parent) => table.get(value) ?? make(value, parent),
    qid(life, specPath) {
      let state = life.qids.get(specPath);
      if (!state) {
        state = { path: next++, vers: 0, last: undefined };
        life.qids.set(specPath, state);
      }
      return state;
    },
    end(value) {
      const life = table.get(value) ?? make(value, root);
      life.ended = true;
      for (const open of [...life.opens]) open.end();
    },
  };
}

export const isEnded = (life: Life | undefined): boolean => life !== undefined && (life.ended || isEnded(life.parent));

/** A place in the tree as somebody walked to it. */
export interface Vnode {
  readonly spec: BuiltNode;
  readonly parent: Vnode | undefined;
  readonly life: Life;
  /** Instances by scope key: what becomes `c.session`. */
  readonly values: Readonly<Record<string, object>>;
  /** Set on the directory of an instance. */
  readonly each: BuiltEach | undefined;
  readonly qid: QidState;
}

/** Name as listings show it; an instance's may change. */
export const nameOf = (v: Vnode): string => (v.each ? v.each.spec.name(v.life.value) : v.spec.name);

export function pathOf(v: Vnode): string {
  let path = "";
  for (let at = v; at.parent; at = at.parent) path = `/${nameOf(at)}${path}`;
  return path || "/";
}

export const uidOf = (v: Vnode): string =>
  v.each?.spec.uid?.(v.life.value) ?? v.spec.uid ?? (v.parent ? uidOf(v.parent) : "");
export const gidOf = (v: Vnode): string => v.spec.gid ?? (v.parent ? gidOf(v.parent) : "");

/** Who asks, as far as finding nodes needs it. */
export type ContextOf = (v: Vnode, principal: Principal) => Base;

export function child(parent: Vnode, spec: BuiltNode, all: Lives): Vnode {
  const { life, values } = parent;
  const qid = all.qid(life, spec.path);
  if (qid.node?.spec === spec && qid.node.parent === parent) return qid.node;
  qid.node = { spec, parent, life, values, each: undefined, qid };
  return qid.node;
}

export function instance(parent: Vnode, each: BuiltEach, value: object, all: Lives): Vnode {
  const life = all.of(value, parent.life);
  const qid = all.qid(life, each.dir.path);
  if (qid.node?.each === each && qid.node.parent === parent) return qid.node;
  const values = { ...parent.values, [each.scope.key]: value };
  qid.node = { spec: each.dir, parent, life, values, each, qid };
  return qid.node;
}

/** Whether no instance is on the way to `v`: then its name and owner are known without asking a plugin. */
export function isPlain(v: Vnode): boolean {
  for (let at: Vnode | undefined = v; at; at = at.parent) if (at.each) return false;
  return true;
}
