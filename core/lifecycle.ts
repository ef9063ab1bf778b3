/** One plugin's life: setup as a transaction, and its way back. */
import { messageOf, NineError, OllieError } from "./errors.ts";
import type { Hooks } from "./hooks.ts";
import type { Logger } from "./log.ts";
import { titleOf } from "./order.ts";
import type { ListenAt, Listening, ListenOptions, PluginApi, Use } from "./plugin.ts";
import type { Services } from "./services.ts";
import { isThenable } from "./thenable.ts";
import { type Abort, lazyAbort } from "./tree/call.ts";
import type { Fragment } from "./tree/merge.ts";
import { type Owner, owner } from "./tree/node.ts";
import type { Base, Scope } from "./tree/scope.ts";
import type { Tree } from "./tree/tree.ts";

export type PluginState = "off" | "running" | "failed" | "blocked" | "stopped";

/** A plugin of the config with all the rows that it added. */
export interface Row {
  readonly use: Use;
  readonly name: string;
  readonly rank: number;
  state: PluginState;
  owner: Owner;
  error: string | undefined;
  stack: string | undefined;
  setupMs: number;
  fragments: Fragment[];
  undos: (() => void | Promise<void>)[];
  abort: Abort;
}

export const newRow = (use: Use, rank: number): Row => ({
  use,
  name: use.def.name,
  rank,
  state: use.use.off ? "off" : "stopped",
  owner: owner(use.def.name),
  error: undefined,
  stack: undefined,
  setupMs: 0,
  fragments: [],
  undos: [],
  abort: lazyAbort(),
});

/** What plugins reach the kernel through. */
export interface Host {
  readonly hooks: Hooks;
  readonly services: Services;
  readonly log: Logger;
  readonly tree: Tree;
  readonly setupLimit: number;
  readonly dryRun: boolean;
  runAs<T>(plugin: string, fn: () => T): T;
  report(plugin: string, where: string, error: unknown): void;
  /** The instance is gone: state made for it is dropped, and what is open below it ends. */
  end(instance: object): void;
  onEnd(fn: (instance: object) => void): () => void;
  listen(at: ListenAt, options: ListenOptions): Promise<Listening>;
  /** Asks for the kernel's end. */
  stop(reason: string): void;
}

/** Runs `setup`; a throw or a time-out undoes all that it added and rethrows. */
export async function setUp(row: Row, config: unknown, host: Host): Promise<void> {
  const began = process.hrtime.bigint();
  row.owner = owner(row.name);
  row.abort = lazyAbort();
  row.fragments = [];
  row.undos = [];
  try {
    const { setup } = row.use.def as { setup(api: PluginApi): void | Promise<void> };
    const run = host.runAs(row.name, () => setup(apiOf(row, config, host)));
    if (isThenable(run) && !(await inTime(run, host.setupLimit)))
      throw new OllieError("E_START", `${row.name}: setup did not finish in ${host.setupLimit} ms`);
    for (const key of row.use.def.provides ?? [])
      if (key.kind === "token" && host.services.provider(key) !== row.name)
        throw new OllieError("E_USE", `${row.name}: its setup did not provide ${titleOf(key)}`);
    row.state = "running";
    row.error = undefined;
  } catch (error) {
    row.state = "failed";
    row.error = messageOf(error);
    row.stack = error instanceof Error ? error.stack : undefined;
    await takeDown(row, host);
    throw error;
  } finally {
    row.setupMs = Math.round(Number(process.hrtime.bigint() - began) / 1e5) / 10;
  }
}

/** Whether `work` is done within `ms`; rejects as it does. */
async function inTime(work: PromiseLike<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  try {
    return await Promise.race([Promise.resolve(work).then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Milliseconds that a plugin's undos may take before they count as leaks. */
const stopLimit = 5_000;

/** Abort signal, blocked reads woken, deferred undos last in first out. Never throws. */
export async function takeDown(row: Row, host: Host): Promise<void> {
  row.owner.stopped = true;
  row.abort.abort(new OllieError("E_USE", `${row.name}: plugin stopped`));
  for (const open of [...row.owner.opens]) open.end(new NineError(`${row.name}: plugin stopped`));
  const undos = row.undos.reverse();
  row.undos = [];
  row.fragments = [];
  let done = false;
  const all = (async () => {
    for (const undo of undos)
      try {
        const undone = host.runAs(row.name, undo);
        if (isThenable(undone)) await undone;
      } catch (error) {
        host.report(row.name, "stop", error);
      }
    done = true;
  })();
  if (!done && !(await inTime(all, stopLimit)))
    host.report(row.name, "stop", new OllieError("E_LEAK", `${row.name}: still stopping after ${stopLimit} ms`));
}

function apiOf(row: Row, config: unknown, host: Host): PluginApi {
  const { def } = row.use;
  const { name } = row;
  /** What comes too late, out of a setup that was given up, is undone at once. */
  const undo = (fn: () => void | Promise<void>) => {
    if (!row.owner.stopped) return void row.undos.push(fn);
    void (async () => host.runAs(name, fn))().catch((error: unknown) => host.report(name, "stop", error));
  };
  const declared = [...(def.needs ?? []), ...(def.wants ?? [])];
  const misuse = (what: string) => new OllieError("E_USE", `${name}: ${what}`);
  const live = () => {
    if (row.owner.stopped) throw misuse("plugin stopped");
  };
  return {
    config: config as never,
    log: host.log.child({ plugin: name }),
    dryRun: host.dryRun,
    get signal() {
      return row.abort.signal;
    },
    mount(scope, ...nodes) {
      live();
      if (row.state === "running") throw misuse("mount is for setup only");
      const { rename, without } = row.use.use;
      row.fragments.push({
        owner: row.owner,
        scope,
        nodes: nodes as Fragment["nodes"],
        ...(rename ? { rename } : {}),
        ...(without ? { without } : {}),
      });
    },
    on(hook, fn, order) {
      live();
      undo(host.hooks.tap(hook, name, row.rank, fn as (...args: never[]) => unknown, order));
    },
    call: (hook, ...args) => host.hooks.call(hook, ...args),
    provide(key, impl) {
      live();
      if (!def.provides?.includes(key)) throw misuse(`provides ${titleOf(key)} without declaring it`);
      undo(host.services.provide(key, impl, name));
    },
    use(key) {
      if (!declared.includes(key)) throw misuse(`uses ${titleOf(key)} without declaring it in needs or wants`);
      const found = host.services.get(key);
      if (found === undefined) throw misuse(`${titleOf(key)} is not there`);
      return found;
    },
    tryUse(key) {
      if (!declared.includes(key)) throw misuse(`uses ${titleOf(key)} without declaring it in needs or wants`);
      return host.services.get(key);
    },
    state(scope, init, drop) {
      live();
      const dropped = (value: Parameters<NonNullable<typeof drop>>[0]) => {
        try {
          host.runAs(name, () => drop?.(value));
        } catch (error) {
          host.report(name, "state", error);
        }
      };
      return instanceState(scope, init, dropped, undo, host);
    },
    end(_scope, instance) {
      host.end(instance);
    },
    taken: (scope, of) => host.tree.taken(scope, of),
    every(ms, fn) {
      live();
      const timer = setInterval(() => {
        try {
          host.runAs(name, fn);
        } catch (error) {
          host.report(name, "timer", error);
        }
      }, ms).unref();
      undo(() => clearInterval(timer));
    },
    defer: undo,
    async listen(at, options = {}) {
      live();
      const { address, close } = await host.listen(at, options);
      // Stopped meanwhile, it would never be closed: `undo` does so at once.
      undo(close);
      return {
        address,
        async close() {
          row.undos = row.undos.filter((one) => one !== close);
          await close();
        },
      };
    },
  };
}

/** State per instance of a scope, dropped with the instance or with the plugin. */
function instanceState<C, P, V, T>(
  scope: Scope<C, P, V>,
  init: (instance: V) => T,
  drop: (value: T) => void,
  undo: (fn: () => void) => void,
  host: Host,
): (c: Omit<C, keyof Base>) => T {
  const table = new Map<object, T>();
  const root = {};
  const forget = (instance: object) => {
    const value = table.get(instance);
    if (value === undefined) return;
    table.delete(instance);
    drop(value);
  };
  const off = host.onEnd(forget);
  undo(() => {
    off();
    for (const instance of [...table.keys()]) forget(instance);
  });
  return (c) => {
    const instance = scope.key === "" ? root : (c as Readonly<Record<string, object | undefined>>)[scope.key];
    if (!instance) throw new OllieError("E_USE", `there is no ${scope.key} here`);
    let value = table.get(instance);
    if (value === undefined) {
      value = init(instance as V);
      table.set(instance, value);
    }
    return value;
  };
}
