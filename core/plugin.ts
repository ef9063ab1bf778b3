/** What a plugin is: a definition that becomes a factory, and the api that its setup gets. */

import { callerFolder } from "./attribution.ts";
import type { StandardSchemaV1 } from "./config/schema.ts";
import type { CallResult, Hook, HookCall, HookKind, TapOrder, TapResult } from "./hooks.ts";
import type { Logger } from "./log.ts";
import type { Token } from "./services.ts";
import type { Principal } from "./tree/principal.ts";
import type { Base, Scope } from "./tree/scope.ts";
import type { Node } from "./tree/spec.ts";

/** A plugin's definition. Importing its module must have no side effects; all happens in `setup`. */
export interface PluginDef<N extends string = string, In = unknown, Out = unknown> {
  name: N;
  version?: string;
  /** One sentence, for /plugins/{name}/doc. */
  doc: string;
  /** A schema of its options (Standard Schema; zod implements it). Unknown keys should be errors. */
  config?: StandardSchemaV1<In, Out>;
  /** Its failure stops the start, and a late error of it asks for the kernel's end. Guards (policy plugins) set it. */
  required?: boolean;
  provides?: readonly (Token<unknown> | Scope<unknown>)[];
  /** Hard needs: services and scopes. */
  needs?: readonly (Token<unknown> | Scope<unknown>)[];
  /** Order only; `tryUse` gives undefined where nobody provides. */
  wants?: readonly (Token<unknown> | Scope<unknown>)[];
  /** Plugin names that must be set up first, where they are enabled. */
  after?: readonly string[];
  /** Rights that it takes, for people to read; in-process they are not enforced. */
  caps?: readonly string[];
  setup(api: PluginApi<Out>): void | Promise<void>;
}

/** Where to listen. `duplex` serves one connection over any stream pair. */
export type ListenAt =
  | { unix: string }
  | { tcp: { host?: string; port: number } }
  | { duplex: import("node:stream").Duplex };

export interface ListenOptions {
  /** Who connections are. Default: the daemon's user. */
  principal?: Principal;
  /** Decides per connection; a text refuses it with that Rerror. */
  judge?: (peer: Peer) => Principal | string | Promise<Principal | string>;
}

export interface Peer {
  uname: string;
  aname: string;
  /** File descriptor of the connection now, where it is a socket that is open. */
  fd?: number | undefined;
}

/** A connection that was accepted, before anybody attached. */
export interface Accepted {
  readonly duplex: import("node:stream").Duplex;
  /** What its listener was given. Without `principal` and `judge` it speaks for the daemon's user. */
  readonly options: ListenOptions;
}

export interface PluginApi<Cfg = unknown> {
  readonly config: Cfg;
  readonly log: Logger;
  /** True for `olliesrv config check`: mount, tap and provide as ever, and touch nothing outside of the process. `listen` opens nothing. */
  readonly dryRun: boolean;
  /** Aborts when the plugin stops. */
  readonly signal: AbortSignal;
  /** Adds nodes to the tree; they appear when the tree is built, after all setups. */
  mount<C>(scope: Scope<C>, ...nodes: Node<NoInfer<C>>[]): void;
  /** Taps a hook. Untapped when the plugin stops. */
  on<K extends HookKind, A extends readonly unknown[], R>(
    hook: Hook<K, A, R>,
    fn: (...args: [...A, call: HookCall]) => TapResult<K, R>,
    order?: TapOrder,
  ): void;
  /** Runs a hook. Without taps it costs no promise. */
  call<K extends HookKind, A extends readonly unknown[], R>(hook: Hook<K, A, R>, ...args: A): CallResult<K, R>;
  provide<T>(token: Token<T>, impl: T): void;
  /** The service; it must stand in `needs` or `wants`, else this throws. */
  use<T>(token: Token<T>): T;
  tryUse<T>(token: Token<T>): T | undefined;
  /** State that belongs to each instance of a scope (or to Root): made when first asked for, dropped with the instance or the plugin. */
  state<C, P, V, T>(
    scope: Scope<C, P, V>,
    init: (instance: V) => T,
    drop?: (value: T) => void,
  ): (c: Omit<C, keyof Base>) => T;
  /** The scope's owner says that an instance is gone: blocked reads below it end, other messages on its fids get an Rerror. */
  end<C, P, V extends object>(scope: Scope<C, P, V>, instance: V): void;
  /** Whether a literal name of the tree stands where an instance of `scope` would: then no instance may be called so. */
  taken(scope: Scope<unknown>, name: string): boolean;
  /** A timer that stops with the plugin and does not hold the process. */
  every(ms: number, fn: () => void): void;
  /** Runs when the plugin stops, last in first out. */
  defer(undo: () => void | Promise<void>): void;
  /** Serves the tree at one more place. */
  listen(at: ListenAt, options?: ListenOptions): Promise<Listening>;
}

export interface Listening {
  /** A dial string: `unix!/path` or `tcp!host!port`. */
  readonly address: string;
  close(): Promise<void>;
}

/** How the user's config enables a plugin: with options, and with the user's word in conflicts. */
export interface UseOptions {
  /** Moves files: `{ "/tally": "/tally2" }`. */
  rename?: Record<string, string>;
  /** Leaves files out. */
  without?: readonly string[];
  off?: boolean;
}

/** A plugin with its options: what stands in `plugins: [...]`. */
export interface Use {
  readonly kind: "use";
  /** Folder of the module that defined it: errors that come late are blamed by it. */
  readonly folder: string | undefined;
  readonly def: PluginDef<string, never, never>;
  readonly options: unknown;
  readonly use: UseOptions;
}

/** Makes the factory that users put in their config. */
export function definePlugin<N extends string, In = Record<string, never>, Out = In>(
  def: PluginDef<N, In, Out>,
): PluginFactory<In> {
  const folder = callerFolder();
  const factory = (options?: In, use: UseOptions = {}): Use => ({
    kind: "use",
    get folder() {
      return folder();
    },
    def: def as unknown as PluginDef<string, never, never>,
    options,
    use,
  });
  return Object.assign(factory, { plugin: def.name });
}

export interface PluginFactory<In> {
  (options?: In, use?: UseOptions): Use;
  /** The plugin's name. */
  readonly plugin: string;
}
