/** All plugins of one kernel: set up in order, blocked where a need fails, stopped with their dependants. */
import { type Attribution, blame } from "./attribution.ts";
import { messageOf, OllieError } from "./errors.ts";
import { pluginState, spec } from "./kernel-hooks.ts";
import { type Host, newRow, type PluginState, type Row, setUp, takeDown } from "./lifecycle.ts";
import { orderPlugins, titleOf } from "./order.ts";
import type { Use } from "./plugin.ts";
import { docRows } from "./tree/doc.ts";
import type { BuiltDir } from "./tree/node.ts";
import { validate } from "./validate.ts";
import { KernelView } from "./view.ts";

export interface PluginStatus {
  name: string;
  version: string;
  doc: string;
  state: PluginState;
  /** Last error: one line, and where it was thrown. */
  error: string | undefined;
  stack: string | undefined;
  setupMs: number;
  taps: string[];
  mounts: string[];
  /** Scopes that nobody serves: what it mounts there waits. */
  waiting: string[];
  /** Hook calls that have not settled. */
  inFlight: string[];
  provides: string[];
  /** Options as the user wrote them; references stay references. */
  config: unknown;
}

export interface Plugins {
  /** Throws OllieError: a wrong config, a cycle, a conflict in the tree, a required plugin that failed. */
  start(): Promise<void>;
  /** Keeps what went wrong for /plugins/{name}/error. */
  note(plugin: string, text: string, error: unknown): void;
  status(): PluginStatus[];
  /** An error that reached nobody: true when a plugin could be blamed for it. */
  late(error: unknown): boolean;
  /** Stops everything, last started first. */
  close(): Promise<void>;
}

export function pluginSet(
  uses: readonly Use[],
  host: Host,
  { current }: Attribution,
  onRunning: (row: Row) => void,
): Plugins {
  const rows = uses.map(newRow);
  const started: Row[] = [];
  let starting: Promise<void> | undefined;
  /** The one whose setup runs. */
  let inSetup: Row | undefined;
  let closed = false;

  const setState = (row: Row, state: PluginState, error?: string) => {
    row.state = state;
    if (error !== undefined) row.error = error;
    host.hooks.call(pluginState, row.name, state);
  };

  const rebuild = async () => {
    const fragments = rows.flatMap((row) => (row.state === "running" ? row.fragments : []));
    host.tree.rebuild(await host.hooks.call(spec, fragments));
    for (const { scope, owner } of host.tree.waiting)
      host.log.warn(`nothing serves ${scope.path}: files of ${owner.name} wait`, { plugin: owner.name });
  };

  const block = (row: Row, why: string) => {
    host.log.error(why, { plugin: row.name });
    setState(row, "blocked", why);
    if (row.use.def.required) throw new OllieError("E_NEEDS", why);
  };

  const configsOf = async (enabled: readonly Row[]): Promise<Map<Row, unknown>> => {
    const faults: string[] = [];
    const configs = new Map<Row, unknown>();
    for (const row of enabled)
      try {
        configs.set(row, await validate(row.use));
      } catch (error) {
        faults.push(messageOf(error));
      }
    if (faults.length > 0) throw new OllieError("E_CONFIG", faults.join("\n"));
    return configs;
  };

  /** What `row` needs of a plugin that is not running. */
  const missing = (row: Row): string | undefined => {
    for (const key of row.use.def.needs ?? []) {
      const from = rows.find((one) => one.use.def.provides?.includes(key));
      if (from && from !== row && from.state !== "running")
        return `${row.name}: needs ${titleOf(key)} of ${from.name}, which ${from.state === "failed" ? "failed" : `is ${from.state}`}`;
    }
    return undefined;
  };

  async function startOne(row: Row, config: unknown): Promise<void> {
    const why = missing(row);
    if (why) return block(row, why);
    inSetup = row;
    try {
      await setUp(row, config, host);
    } catch (error) {
      host.report(row.name, "setup", error);
      setState(row, "failed");
      if (row.use.def.required) throw new OllieError("E_START", `${row.name}: ${messageOf(error)}`, { cause: error });
      return;
    }
    started.push(row);
    setState(row, "running");
    onRunning(row);
  }

  /** Stops `row` and, before it, all that need what it provides. */
  async function stop(row: Row): Promise<void> {
    const at = started.indexOf(row);
    if (at < 0) return;
    for (const other of started.slice(at + 1).reverse())
      if (other.use.def.needs?.some((key) => row.use.def.provides?.includes(key))) await stop(other);
    started.splice(started.indexOf(row), 1);
    row.state = "stopped";
    await takeDown(row, host);
    host.hooks.call(pluginState, row.name, "stopped");
  }

  async function startAll(): Promise<void> {
    const enabled = rows.filter((row) => row.state !== "off");
    const configs = await configsOf(enabled);
    const { order, blocked } = orderPlugins(
      enabled.map((row) => row.use),
      [KernelView],
    );
    const rowOf = new Map(rows.map((row) => [row.use, row]));
    for (const [use, why] of blocked) block(rowOf.get(use) as Row, why);
    for (const use of order) {
      const row = rowOf.get(use) as Row;
      await startOne(row, configs.get(row));
      if (closed) throw new OllieError("E_START", "closed while it was starting");
    }
    await rebuild();
  }

  return {
    start() {
      starting = startAll();
      return starting;
    },
    note(plugin, text, error) {
      const row = rows.find((one) => one.name === plugin);
      if (!row) return;
      row.error = text;
      row.stack = error instanceof Error ? error.stack : undefined;
    },
    status() {
      const docs = docRows(host.tree.root.spec as BuiltDir);
      return rows.map((row) => ({
        name: row.name,
        version: row.use.def.version ?? "",
        doc: row.use.def.doc,
        state: row.state,
        error: row.error,
        stack: row.stack,
        setupMs: row.setupMs,
        taps: [...host.hooks.rows()].filter((tap) => tap.plugin === row.name).map((tap) => tap.hook.name),
        mounts: docs.filter((doc) => doc.plugin === row.name).map((doc) => doc.path),
        waiting: host.tree.waiting.filter((one) => one.owner === row.owner).map((one) => one.scope.path),
        inFlight: [...host.hooks.inFlight].filter((call) => call.plugin === row.name).map((call) => call.hook),
        provides: [...host.services.rows()].filter((one) => one.plugin === row.name).map((one) => one.name),
        config: row.use.options ?? {},
      }));
    },
    late(error) {
      // Two plugins of one folder can not be told apart by it.
      const folders = new Map<string, string>();
      for (const { name, use, state } of rows)
        if (use.folder && state !== "off") folders.set(use.folder, folders.has(use.folder) ? "" : name);
      const { plugin, unsure } = blame(error, current(), folders);
      for (const name of unsure ?? []) host.report(name, `late error, of ${unsure?.join(" or ")}`, error);
      // Also of one that was stopped: its timers may outlive it, and that is no reason to end the others.
      const row = rows.find((one) => one.name === plugin);
      if (!row) return unsure !== undefined;
      host.report(row.name, "late error", error);
      // Without a guard nothing should go on: it stays, and the kernel's owner is asked to end.
      if (row.use.def.required) {
        host.stop(`${row.name}: a required plugin failed`);
        return true;
      }
      stop(row)
        .then(rebuild)
        .catch((cause: unknown) => host.report(row.name, "stop", cause));
      return true;
    },
    async close() {
      closed = true;
      inSetup?.abort.abort(new OllieError("E_USE", `${inSetup.name}: plugin stopped`));
      await starting?.catch(() => {});
      while (started.length > 0) await stop(started[started.length - 1] as Row);
    },
  };
}
