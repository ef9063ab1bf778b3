/** createKernel: config -> order -> setup -> build -> serve -> close. No global state, no signal handlers. */
import { userInfo } from "node:os";
import type { Duplex } from "node:stream";
import { attribution, blame } from "./attribution.ts";
import { messageOf, OllieError } from "./errors.ts";
import { kernelFs } from "./fs.ts";
import { type CallResult, type Hook, type HookKind, hooks } from "./hooks.ts";
import { attach, fault, pluginState, spec } from "./kernel-hooks.ts";
import { type Host, newRow, type PluginState, type Row, setUp, takeDown } from "./lifecycle.ts";
import { bufferedLog, type Logger, LogSink } from "./log.ts";
import { listenAt } from "./ninep/listen.ts";
import { serve as serveConnection } from "./ninep/server.ts";
import { orderPlugins } from "./order.ts";
import type { ListenAt, Listening, ListenOptions, Use } from "./plugin.ts";
import { services, type Token } from "./services.ts";
import { docRows, helpText } from "./tree/doc.ts";
import type { BuiltDir } from "./tree/node.ts";
import type { Principal } from "./tree/principal.ts";
import type { Text } from "./tree/spec.ts";
import { createTree } from "./tree/tree.ts";
import { validate } from "./validate.ts";
import { KernelView } from "./view.ts";

export interface KernelOptions {
  plugins: readonly Use[];
  log?: Logger;
  /** Name of the user that owns the tree. Default: the process's user. */
  user?: string;
  /** Milliseconds that one plugin's setup may take. Default 10,000. */
  setupLimit?: number;
}

export interface FsStat {
  name: string;
  dir: boolean;
  mode: number;
  uid: string;
  gid: string;
  length: number;
  qid: { type: number; vers: number; path: number };
}

/** The tree without a socket, for tests and embedders. Paths start at the root; errors are NineError with the Rerror's text. */
export interface KernelFs {
  /** Reads to the end. A blocking file is read once. */
  read(path: string): Promise<string>;
  /** Opens, writes, closes: the write has taken effect when this resolves. */
  write(path: string, data: Text): Promise<void>;
  /** Writes, then reads the reply on the same fid. */
  rdwr(path: string, body: Text): Promise<string>;
  /** What a blocking file gives, until its end or until the loop is left. */
  stream(path: string): AsyncIterable<string>;
  ls(path: string): Promise<string[]>;
  stat(path: string): Promise<FsStat>;
  remove(path: string): Promise<void>;
  rename(path: string, name: string): Promise<void>;
  /** The same tree seen by somebody else. */
  as(principal: Principal): KernelFs;
}

export interface PluginStatus {
  name: string;
  version: string;
  doc: string;
  state: PluginState;
  /** Last error: one line. */
  error: string | undefined;
  setupMs: number;
  taps: string[];
  mounts: string[];
  inFlight: string[];
  provides: string[];
  /** Options as the user wrote them; references stay references. */
  config: unknown;
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
  const self: Principal = { name: user, groups: [user], kind: "user" };
  const { log, sink } = bufferedLog(options.log);
  const { runAs, current } = attribution();
  const table = services();
  const rows = options.plugins.map(newRow);
  const started: Row[] = [];
  const endings = new Set<(instance: object) => void>();
  const stops: ((reason: string) => void)[] = [];
  const open = new Set<Listening>();
  const connections = new Set<{ close(): void }>();
  let reporting = false;

  const report = (plugin: string, where: string, error: unknown) => {
    log.error(`${where}: ${messageOf(error)}`, { plugin, stack: error instanceof Error ? error.stack : undefined });
    const row = rows.find((one) => one.name === plugin);
    if (row) {
      row.error = `${where}: ${messageOf(error)}`;
      row.stack = error instanceof Error ? error.stack : undefined;
    }
    // A tap on `fault` that fails must not report itself for ever.
    if (reporting) return;
    reporting = true;
    try {
      bus.call(fault, plugin, where, error);
    } finally {
      reporting = false;
    }
  };
  const bus = hooks(report, runAs);
  const tree = createTree({ user, report, runAs });

  const host: Host = {
    hooks: bus,
    services: table,
    log,
    tree,
    setupLimit: options.setupLimit ?? 10_000,
    runAs,
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
  };

  const setState = (row: Row, state: PluginState, error?: string) => {
    row.state = state;
    if (error !== undefined) row.error = error;
    bus.call(pluginState, row.name, state);
  };

  const rebuild = async () => {
    const fragments = rows.flatMap((row) => (row.state === "running" ? row.fragments : []));
    tree.rebuild(await bus.call(spec, fragments));
  };

  async function start(): Promise<void> {
    const enabled = rows.filter((row) => row.state !== "off");
    const faults: string[] = [];
    const configs = new Map<Use, unknown>();
    for (const row of enabled)
      try {
        configs.set(row.use, await validate(row.use));
      } catch (error) {
        faults.push(messageOf(error));
      }
    if (faults.length > 0) throw new OllieError("E_CONFIG", faults.join("\n"));
    const { order, blocked } = orderPlugins(
      enabled.map((row) => row.use),
      [KernelView as Token<unknown>],
    );
    const rowOf = new Map(rows.map((row) => [row.use, row]));
    const failed = new Map<Use, string>(blocked);
    table.provide(KernelView, view, "kernel");
    for (const [use, why] of blocked) block(rowOf.get(use) as Row, why);
    for (const use of order) {
      const row = rowOf.get(use) as Row;
      const missing = (use.def.needs ?? []).find((key) =>
        enabled.some((one) => failed.has(one.use) && one.use.def.provides?.includes(key)),
      );
      if (missing) {
        failed.set(
          use,
          `${row.name}: needs ${missing.kind === "token" ? missing.name : missing.path}, whose plugin failed`,
        );
        block(row, failed.get(use) as string);
        continue;
      }
      try {
        await setUp(row, configs.get(use), host);
        started.push(row);
        setState(row, "running");
        const given = table.get(LogSink);
        if (given && table.provider(LogSink) === row.name) sink(given);
      } catch (error) {
        failed.set(use, messageOf(error));
        report(row.name, "setup", error);
        setState(row, "failed");
        if (use.def.required) throw new OllieError("E_START", `${row.name}: ${messageOf(error)}`, { cause: error });
      }
    }
    await rebuild();
    for (const fragment of tree.waiting)
      log.warn(`nothing serves ${fragment.scope.path}: files of ${fragment.owner.name} wait`, {
        plugin: fragment.owner.name,
      });
  }

  const block = (row: Row, why: string) => {
    log.error(why, { plugin: row.name });
    setState(row, "blocked", why);
    if (row.use.def.required) throw new OllieError("E_NEEDS", why);
  };

  const status = (): PluginStatus[] => {
    const docs = docRows(tree.root.spec as BuiltDir);
    return rows.map((row) => ({
      name: row.name,
      version: row.use.def.version ?? "",
      doc: row.use.def.doc,
      state: row.state,
      error: row.error,
      setupMs: row.setupMs,
      taps: [...bus.rows()].filter((tap) => tap.plugin === row.name).map((tap) => tap.hook.name),
      mounts: docs.filter((doc) => doc.plugin === row.name).map((doc) => doc.path),
      inFlight: [...bus.inFlight].filter((flight) => flight.plugin === row.name).map((flight) => flight.hook),
      provides: [...table.rows()].filter((service) => service.plugin === row.name).map((service) => service.name),
      config: row.use.options ?? {},
    }));
  };

  const view: KernelView = {
    help: () => helpText(docRows(tree.root.spec as BuiltDir)),
    status,
    stop(reason) {
      log.info(`stop: ${reason}`);
      setImmediate(() => {
        for (const fn of stops) fn(reason);
      });
    },
  };

  const who = (uname: string, aname: string, how: ListenOptions): Principal | string | Promise<Principal | string> => {
    const base = how.judge ? how.judge({ uname, aname }) : (how.principal ?? self);
    if (bus.taps(attach).length === 0) return base;
    return (async () => {
      const refused = await bus.call(attach, { uname, aname });
      return refused ? refused.block : base;
    })();
  };

  let closing: Promise<void> | undefined;
  const kernel: Kernel = {
    async start() {
      try {
        await start();
      } catch (error) {
        await kernel.close();
        throw error;
      }
    },
    fs: kernelFs(() => tree, self),
    serve(duplex, how = {}) {
      const connection = serveConnection(duplex, {
        tree: () => tree,
        attach: (uname, aname) => who(uname, aname, how),
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
    status,
    onStop(fn) {
      stops.push(fn);
    },
    late(error) {
      const running = rows.filter((row) => row.state === "running");
      // Two plugins of one folder can not be told apart by it.
      const folders = new Map<string, string>();
      for (const { name, use } of running) if (use.folder) folders.set(use.folder, folders.has(use.folder) ? "" : name);
      const { plugin, unsure } = blame(error, current(), folders);
      if (unsure) {
        for (const name of unsure) report(name, `late error, of ${unsure.join(" or ")}`, error);
        return true;
      }
      const row = running.find((one) => one.name === plugin);
      if (!row) return false;
      report(row.name, "late error", error);
      void stop(row);
      return true;
    },
    close() {
      closing ??= (async () => {
        for (const row of started.reverse()) await stop(row);
        for (const one of [...open]) await one.close();
        for (const connection of connections) connection.close();
      })();
      return closing;
    },
    [Symbol.asyncDispose]: () => kernel.close(),
  };

  async function stop(row: Row): Promise<void> {
    if (row.state !== "running") return;
    row.state = "stopped";
    await takeDown(row, host);
    bus.call(pluginState, row.name, "stopped");
  }
  return kernel;
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return process.env.USER ?? "none";
  }
}
