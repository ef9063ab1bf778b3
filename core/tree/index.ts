/** The tree without a protocol: exported as `ollie/tree`. */
export type { Principal } from "./principal.ts";
export type { Base, Scope } from "./scope.ts";
export { Root } from "./scope.ts";
export type { Bus, Source, Waiters } from "./source.ts";
export { bus, source, waiters } from "./source.ts";
export type { Commit, Dir, DirMeta, Each, Handlers, Instances, Leaf, LeafSpec, Meta, Node, Text } from "./spec.ts";
export { dir, each, leaf, text } from "./spec.ts";
