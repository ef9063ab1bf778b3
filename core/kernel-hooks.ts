/** The hooks of the kernel itself. All others belong to plugins and live in their types.ts. */
import { hook } from "./hooks.ts";
import type { Accepted } from "./plugin.ts";
import type { PluginStatus } from "./plugins.ts";
import type { Fragment } from "./tree/merge.ts";

/** Something a plugin did wrong, or that got lost: handlers, taps, commits that failed at the clunk, late errors. */
export const fault = hook.observe<[plugin: string, where: string, error: unknown]>("fault", {
  doc: "a plugin's code failed, or uncommitted bytes were dropped",
});

/** A connection comes in; a block refuses whatever attaches on it with that Rerror. */
export const accept = hook.gate<[connection: Accepted]>("accept", {
  doc: "a connection was accepted; a block refuses every attach on it",
  onThrow: "block",
});

/** Somebody attaches; a block refuses it with that Rerror. */
export const attach = hook.gate<[peer: { uname: string; aname: string }]>("attach", {
  doc: "a connection attaches; a block refuses it",
  onThrow: "block",
});

/** The fragments before they become the tree: a policy plugin can tighten modes. */
export const spec = hook.transform<[fragments: readonly Fragment[]]>("spec", {
  doc: "all fragments, before the tree is built",
});

export const pluginState = hook.observe<[name: string, state: PluginStatus["state"]]>("pluginState", {
  doc: "a plugin was started, failed or stopped",
});
