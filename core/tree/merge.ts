/** Fragments of all plugins -> one tree. Built aside; the caller swaps one reference when there are no faults. */
import { checkNodes, defaultMode, illegal, isLegal } from "./build.ts";
import type { BuiltDir, BuiltEach, BuiltFile, BuiltNode, Owner } from "./node.ts";
import { type Base, depthOf, type Scope } from "./scope.ts";
import type { DirMeta, Instances, LeafSpec, Node } from "./spec.ts";

/** What one `mount` call added. */
export interface Fragment {
  readonly owner: Owner;
  readonly scope: Scope<unknown>;
  readonly nodes: readonly Node<never>[];
  /** The user's word: spec path -> new spec path in the same directory. */
  readonly rename?: Readonly<Record<string, string>>;
  readonly without?: readonly string[];
}

export interface Merged {
  root: BuiltDir;
  /** Rules that a fragment breaks, each a sentence that names plugin and path. */
  faults: string[];
  /** Paths that two claim, and words of the user that settle nothing. */
  conflicts: string[];
  /** Fragments whose scope's owner is off. */
  waiting: Fragment[];
}

export function merge(fragments: readonly Fragment[], user: string): Merged {
  const kernel: Owner = { name: "kernel", stopped: false, opens: new Set() };
  const root = newDir("", "/", kernel, { mode: 0o555, uid: user, gid: user, doc: "All that is served." });
  const state: State = { scopes: new Map([["/", root]]), faults: [], conflicts: [], set: new Map(), asked: new Set() };
  const waiting: Fragment[] = [];
  const sorted = [...fragments].sort((a, b) => depthOf(a.scope) - depthOf(b.scope));
  for (const fragment of sorted) {
    const faults = checkNodes(fragment.owner.name, fragment.scope.path, fragment.nodes);
    state.faults.push(...faults);
    // What breaks rules can not be joined with anything.
    if (faults.length > 0) continue;
    const dir = state.scopes.get(fragment.scope.path);
    if (dir) for (const node of fragment.nodes) add(dir, node, fragment, state);
    else waiting.push(fragment);
  }
  if (state.faults.length === 0) state.conflicts.push(...idleWords(fragments, waiting, state.asked));
  return { root, faults: [...new Set(state.faults)], conflicts: [...new Set(state.conflicts)], waiting };
}

/** What `rename` and `without` name and the plugin does not mount: a slip would otherwise leave a file served in silence. */
function* idleWords(fragments: readonly Fragment[], waiting: readonly Fragment[], asked: ReadonlySet<string>) {
  const unsure = new Set(waiting.map((fragment) => fragment.owner));
  for (const { owner, rename = {}, without = [] } of fragments)
    for (const path of [...Object.keys(rename), ...without])
      if (!unsure.has(owner) && !asked.has(`${owner.name} ${path}`))
        yield `${owner.name}: the config renames or leaves out ${path}, which it does not serve`;
}

interface State {
  scopes: Map<string, BuiltDir>;
  faults: string[];
  conflicts: string[];
  /** Who set a directory's attributes. */
  set: Map<BuiltDir, string>;
  /** `plugin path` of every node, as mounted. */
  asked: Set<string>;
}

function add(dir: BuiltDir, node: Node<never>, from: Fragment, state: State): void {
  if (node.kind === "each") {
    addEach(dir, node.scope, node.spec as Instances<Base, object>, node.children, from, state);
    return;
  }
  const asked = join(dir.path, node.name);
  state.asked.add(`${from.owner.name} ${asked}`);
  if (from.without?.includes(asked)) return;
  const renamed = from.rename?.[asked];
  const path = renamed ?? asked;
  if (renamed !== undefined && parentOf(renamed) !== dir.path) {
    state.conflicts.push(`${from.owner.name}: rename of ${asked} leaves its directory (${renamed})`);
    return;
  }
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (!isLegal(name)) {
    state.conflicts.push(`${from.owner.name}: rename of ${asked}: ${path} ${illegal}`);
    return;
  }
  const old = dir.children.get(name);
  const clash = (what: string) => state.conflicts.push(`${from.owner.name}: ${path} ${what} ${old?.owner.name}`);
  if (node.kind === "leaf") {
    if (old) clash("is already served by");
    else dir.children.set(name, newFile(name, path, from.owner, node.spec as LeafSpec<Base>));
    return;
  }
  if (old?.kind === "file") {
    clash("is already served as a file by");
    return;
  }
  const below = old ?? newDir(name, path, from.owner, node.meta);
  if (old && hasAttributes(node.meta)) {
    const first = state.set.get(old);
    if (first) state.conflicts.push(`${from.owner.name}: attributes of ${path} are already set by ${first}`);
    else dir.children.set(name, { ...old, ...attributes(node.meta) });
  }
  if (!old) dir.children.set(name, below);
  const final = dir.children.get(name) as BuiltDir;
  if (hasAttributes(node.meta)) state.set.set(final, from.owner.name);
  for (const child of node.children) add(final, child, from, state);
}

function addEach(
  dir: BuiltDir,
  scope: Scope<unknown>,
  spec: Instances<Base, object>,
  children: readonly Node<never>[],
  from: Fragment,
  state: State,
): void {
  if (dir.each) {
    state.conflicts.push(`${from.owner.name}: instances of ${scope.path} are already served by ${dir.each.owner.name}`);
    return;
  }
  const name = scope.path.slice(scope.path.lastIndexOf("/") + 1);
  const template = newDir(name, scope.path, from.owner, {
    ...(spec.mode === undefined ? {} : { mode: spec.mode }),
    ...(spec.gid === undefined ? {} : { gid: spec.gid }),
    ...(spec.doc === undefined ? {} : { doc: spec.doc }),
  });
  const each: BuiltEach = { owner: from.owner, scope, spec, dir: template };
  dir.each = each;
  state.scopes.set(scope.path, template);
  for (const child of children) add(template, child, from, state);
}

function newFile(name: string, path: string, own: Owner, spec: LeafSpec<Base>): BuiltFile {
  const { mode = defaultMode(spec as LeafSpec<never>), uid, gid, doc } = spec;
  return { kind: "file", name, path, owner: own, mode, uid, gid, doc, spec };
}

function newDir(name: string, path: string, own: Owner, meta: DirMeta): BuiltDir {
  const { mode = 0o555, uid, gid, doc = "" } = meta;
  return { kind: "dir", name, path, owner: own, mode, uid, gid, doc, children: new Map(), each: undefined };
}

const hasAttributes = (meta: DirMeta): boolean => Object.values(attributes(meta)).length > 0;

const attributes = (meta: DirMeta): Partial<DirMeta> =>
  Object.fromEntries(Object.entries(meta).filter(([, value]) => value !== undefined && value !== ""));

const join = (dir: string, name: string): string => (dir === "/" ? `/${name}` : `${dir}/${name}`);
const parentOf = (path: string): string => path.slice(0, path.lastIndexOf("/")) || "/";

/** Every node of a built tree, parents first. */
export function* nodes(dir: BuiltDir): Iterable<BuiltNode> {
  yield dir;
  for (const node of dir.children.values()) {
    if (node.kind === "dir") yield* nodes(node);
    else yield node;
  }
  if (dir.each) yield* nodes(dir.each.dir);
}
