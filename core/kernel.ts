/** createKernel: config -> order -> setup -> build -> serve -> close. No global state, no signal handlers. */
import { userInfo } from "node:os";
import type { Duplex } from "node:stream";
import { attribution } from "./attribution.ts";
import { messageOf, OllieError } from "./errors.ts";
import { type KernelFs, kernelFs } from "./fs.ts";
import { type CallResult, type Hook, type HookKind, hooks } from "./hooks.ts";
import { accept, attach, fault } from "./kernel-hooks.ts";
import type { Host } from "./lifecycle.ts";
import { bufferedLog, type Logger, LogSink } from "./log.ts";
import { descriptorOf, dialOf, listenAt } from "./ninep/listen.ts";
import { serve as serveConnection } from "./ninep/server.ts";
import type { ListenAt, Listening, ListenOptions, Peer, Use } from "./plugin.ts";
import { type PluginStatus, pluginSet } from "./plugins.ts";
import { services, type Token } from "./services.ts";
import { docRows } from "./tree/doc.ts";
import type { BuiltDir } from "./tree/node.ts";
import type { Principal } from "./tree/principal.ts";
import { createTree } from "./tree/tree.ts";
import { KernelView } from "./view.ts";

export interface KernelOptions {
  plugins: readonly Use[];
  log?: Logger;
  /** Name of the user that owns the tree. Default: the process's user. */
  user?: string;
  /** Milliseconds that one plugin's setup may take. Default 10,000. */
  setupLimit?: number;
  /** Milliseconds that a read, write or rdwr handler may take. Default 60,000. */
  handlerLimit?: number;
  /** Sets up and builds the tree to see whether that works, with no effect outside of the process: nothing listens, and no plugin writes the log. */
  dryRun?: boolean;
}

export interface Kernel extends AsyncDisposable {
  /** Validates, orders and sets up all plugins, then builds the tree. Throws OllieError; then nothing is left running. */
  start(): Promise<void>;
  readonly fs: KernelFs;
  /** Serves one connection over any stream pair. */
  serve(duplex: Duplex, options?: ListenOptions): void;
  listen(at: ListenAt, options?: ListenOptions): Promise<Listening>;
  use<T>(token: Token<T>): T | undefined;
  call<K extends HookKind, A extends readonly unknown[], R>(hook: Hook<K, A, R>, ...args: A): CallResult<K, R>;
  status(): PluginStatus[];
  /** Runs when a plugin asks for the end (`kill` in /ctl): a daemon closes and exits, an embedder decides. */
  onStop(fn: (reason: string) => void): void;
  /** An uncaught error: stops the plugin it belongs to and says true, or false when nobody is to blame. */
  late(error: unknown): boolean;
  close(): Promise<void>;
}

export function createKernel(options: KernelOptions): Kernel {
  const user = options.user ?? userName();
  const dryRun = options.dryRun ?? false;
  const self: Principal = { name: user, groups: [user], kind: "user" };
  const { log, sink } = bufferedLog(options.log);
  const who = attribution();
  const table = services();
  const endings = new Set<(instance: object) => void>();
  const stops: ((reason: string) => void)[] = [];
  const open = new Set<Listening>();
  const connections = new Set<{ close(): void }>();

  let reporting = false;
  const report = (plugin: string, where: string, error: unknown) => {
    const text = `${where}: ${messageOf(error)}`;
    log.error(text, { plugin, stack: error instanceof Error ? error.stack : undefined });
    plugins.note(plugin, text, error);
    // A tap on `fault` that fails must not report itself for ever.
    if (reporting) return;
    reporting = true;
    try {
      bus.call(fault, plugin, where, error);
    } finally {
      reporting = false;
    }
  };
  const bus = hooks(report, who.runAs);
  const tree = createTree({ user, report, runAs: who.runAs, handlerLimit: options.handlerLimit });

  const host: Host = {
    hooks: bus,
    services: table,
    log,
    tree,
    setupLimit: options.setupLimit ?? 10_000,
    dryRun,
    runAs: who.runAs,
    report,
    end(instance) {
      tree.lives.end(instance);
      for (const fn of endings) fn(instance);
    },
    onEnd(fn) {
      endings.add(fn);
      return () => endings.delete(fn);
    },
    listen: (at, how) => kernel.listen(at, how),
    stop(reason) {
      log.info(`stop: ${reason}`);
      setImmediate(() => {
        for (const fn of stops) fn(reason);
      });
    },
  };
  const plugins = pluginSet(options.plugins, host, who, (row) => {
    const given = table.get(LogSink);
    if (given && !dryRun && table.provider(LogSink) === row.name) sink(given);
  });
  table.provide(
    KernelView,
    { files: () => docRows(tree.root.spec as BuiltDir), status: plugins.status, stop: host.stop },
    "kernel",
  );

  /** Who attaches; without taps, and a judge that waits, there is no promise. */
  const attaching = (peer: Peer, how: ListenOptions) => {
    const base = how.judge ? how.judge(peer) : (how.principal ?? self);
    if (bus.taps(attach).length === 0) return base;
    return (async () => (await bus.call(attach, peer))?.block ?? base)();
  };

  let started = false;
  let closing: Promise<void> | undefined;
  const kernel: Kernel = {
    async start() {
      if (started || closing) throw new OllieError("E_USE", "a kernel starts once: make another");
      started = true;
      try {
        await plugins.start();
      } catch (error) {
        await kernel.close();
        throw error;
      }
    },
    fs: kernelFs(() => tree, self),
    serve(duplex, how = {}) {
      // Asked now: later the process that connected may be another one.
      const met = bus.call(accept, { duplex, options: how });
      const connection = serveConnection(duplex, {
        tree: () => tree,
        attach(uname, aname) {
          const peer: Peer = {
            uname,
            aname,
            get fd() {
              return descriptorOf(duplex);
            },
          };
          if (!met) return attaching(peer, how);
          return (async () => (await met)?.block ?? attaching(peer, how))();
        },
        onError: (message) => log.warn(message),
      });
      connections.add(connection);
      duplex.once("close", () => connections.delete(connection));
    },
    async listen(at, how = {}) {
      if ("duplex" in at) {
        kernel.serve(at.duplex, how);
        return { address: "duplex", close: async () => void at.duplex.destroy() };
      }
      if (dryRun) return { address: dialOf(at), close: async () => {} };
      const listening = await listenAt(at, (socket) => kernel.serve(socket, how));
      const mine: Listening = {
        address: listening.address,
        async close() {
          open.delete(mine);
          await listening.close();
        },
      };
      open.add(mine);
      return mine;
    },
    use: (key) => table.get(key),
    call: (key, ...args) => bus.call(key, ...args),
    status: plugins.status,
    onStop: (fn) => void stops.push(fn),
    late: plugins.late,
    close() {
      closing ??= (async () => {
        await plugins.close();
        for (const one of [...open]) await one.close();
        for (const connection of connections) connection.close();
      })();
      return closing;
    },
    [Symbol.asyncDispose]: () => kernel.close(),
  };
  return kernel;
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return process.env.USER ?? "none";
  }
}
