/** The tree without a protocol: exported as `ollie/tree`. */
export type { Abort, Answer } from "./call.ts";
export { lazyAbort } from "./call.ts";
export type { OpenFile, OpenOptions } from "./modes.ts";
export type { Vnode } from "./node.ts";
export { nameOf, pathOf } from "./node.ts";
export type { ReadAnswer, WriteAnswer } from "./open.ts";
export type { Principal } from "./principal.ts";
export type { Base, Scope } from "./scope.ts";
export { Root } from "./scope.ts";
export type { Bus, Source, Waiters } from "./source.ts";
export { bus, source, waiters } from "./source.ts";
export type { Commit, Dir, DirMeta, Each, Handlers, Instances, Leaf, LeafSpec, Meta, Node, Text } from "./spec.ts";
export { dir, each, leaf, text } from "./spec.ts";
export type { NodeStat, Tree, TreeOptions } from "./tree.ts";
export { buildTree, createTree } from "./tree.ts";
