/** The public surface of the kernel: the only file of core/ that anything outside may import. */
export type { Config } from "./config/define.ts";
export { defineConfig, env, file } from "./config/define.ts";
export { configDir, dataDir, expandHome, makeDir, packageRoot, searchPath } from "./config/paths.ts";
export type { Regular } from "./config/regular.ts";
export { readRegular, realPathOf } from "./config/regular.ts";
export type { SchemaIssue, StandardSchemaV1 } from "./config/schema.ts";
export { isTrusted } from "./config/trust.ts";
export type { ErrorCode } from "./errors.ts";
export { cutText, messageOf, NineError, OllieError, Rerror } from "./errors.ts";
export type { FsStat, KernelFs } from "./fs.ts";
export type { AnyHook, Block, CrashPolicy, Hook, HookCall, HookKind, TapOrder } from "./hooks.ts";
export { hook } from "./hooks.ts";
export type { Kernel, KernelOptions } from "./kernel.ts";
export { createKernel } from "./kernel.ts";
export { accept, attach, fault, pluginState, spec } from "./kernel-hooks.ts";
export type { Logger, LogLevel } from "./log.ts";
export { LogSink, silent } from "./log.ts";
export { descriptorOf } from "./ninep/listen.ts";
export type {
  Accepted,
  ListenAt,
  Listening,
  ListenOptions,
  Peer,
  PluginApi,
  PluginDef,
  PluginFactory,
  Use,
  UseOptions,
} from "./plugin.ts";
export { definePlugin } from "./plugin.ts";
export type { PluginStatus } from "./plugins.ts";
export type { Token } from "./services.ts";
export { token } from "./services.ts";
export type { DocRow } from "./tree/doc.ts";
export type {
  Base,
  Bus,
  Commit,
  Dir,
  DirMeta,
  Each,
  Handlers,
  Instances,
  Leaf,
  LeafSpec,
  Meta,
  Node,
  Principal,
  Scope,
  Source,
  Text,
  Waiters,
} from "./tree/index.ts";
export { bus, dir, each, leaf, Root, source, text, waiters } from "./tree/index.ts";
export { KernelView } from "./view.ts";
