/**
 * Hook tokens over tapable: anyone may listen, alter or refuse. The only file that imports tapable.
 * Every tap runs guarded: it has a time limit and a signal, and what it throws is reported with its plugin's name.
 */
import { AsyncParallelHook, AsyncSeriesBailHook, AsyncSeriesHook, AsyncSeriesWaterfallHook, SyncHook } from "tapable";
import { messageOf, OllieError } from "./errors.ts";
import { isThenable } from "./thenable.ts";

export type HookKind = "observe" | "series" | "parallel" | "transform" | "gate";

/** What a gate's throwing tap means: `block` fails closed, `pass` is as if it had not been there. */
export type CrashPolicy = "block" | "pass";

declare const signature: unique symbol;

/** A hook token of any kind. */
export interface AnyHook {
  readonly kind: HookKind;
  readonly name: string;
  readonly doc: string;
  /** Gates only. */
  readonly onThrow: CrashPolicy | undefined;
  /** Milliseconds for one tap; 0: no limit. */
  readonly limit: number;
}

/** A hook token: its kind, what taps are called with, what a call gives. */
export interface Hook<K extends HookKind, A extends readonly unknown[], R> extends AnyHook {
  readonly [signature]?: (args: A) => R;
  readonly kind: K;
}

/** The answer that a gate gives for a tap that crashed under policy `block`. */
export interface Block {
  /** Why, for the model and for people. */
  block: string;
}

interface HookMeta {
  doc: string;
  /** Milliseconds for one tap; 0: no limit. Default 10,000. */
  limit?: number;
}

const define = <K extends HookKind, A extends readonly unknown[], R>(
  kind: K,
  name: string,
  meta: HookMeta & { onThrow?: CrashPolicy },
): Hook<K, A, R> => ({ kind, name, doc: meta.doc, onThrow: meta.onThrow, limit: meta.limit ?? 10_000 });

/** Declares hook tokens, one maker per kind. */
export const hook = {
  /** Synchronous; rest continue after a throw. */
  observe: <A extends readonly unknown[]>(name: string, meta: HookMeta) =>
    define<"observe", A, void>("observe", name, meta),
  /** One after the other; rest continue after a throw. */
  series: <A extends readonly unknown[]>(name: string, meta: HookMeta) =>
    define<"series", A, void>("series", name, meta),
  /** All at once; rest continue after a throw. */
  parallel: <A extends readonly unknown[]>(name: string, meta: HookMeta) =>
    define<"parallel", A, void>("parallel", name, meta),
  /** Each tap may give a new first argument; a throwing tap keeps the previous one. */
  transform: <A extends readonly [unknown, ...unknown[]]>(name: string, meta: HookMeta) =>
    define<"transform", A, A[0]>("transform", name, meta),
  /** The first answer that is not undefined wins. */
  gate: <A extends readonly unknown[], R extends Block = Block>(
    name: string,
    meta: HookMeta & { onThrow: CrashPolicy },
  ) => define<"gate", A, R | undefined>("gate", name, meta),
};

/** What each tap gets behind the hook's own arguments. */
export interface HookCall {
  /** Aborts when the tap's time limit is over. Made when it is first asked for. */
  readonly signal: AbortSignal;
}

/** What a tap may give back, by kind. */
export type TapResult<K extends HookKind, R> = K extends "observe"
  ? void
  : K extends "transform" | "gate"
    ? R | undefined | void | Promise<R | undefined | void>
    : void | Promise<void>;

/** What a call gives, by kind. */
export type CallResult<K extends HookKind, R> = K extends "observe" ? void : R | Promise<R>;

export interface TapOrder {
  /** Lower runs first; default 0, shell hooks 100. */
  stage?: number;
  /** Plugin names that this tap must precede. */
  before?: string | string[];
}

export interface InFlight {
  readonly hook: string;
  readonly plugin: string;
  readonly since: number;
}

export interface Hooks {
  tap(hook: AnyHook, plugin: string, rank: number, fn: (...args: never[]) => unknown, order?: TapOrder): () => void;
  call<K extends HookKind, A extends readonly unknown[], R>(hook: Hook<K, A, R>, ...args: A): CallResult<K, R>;
  /** Plugins that tap this hook, in the order in which they run. */
  taps(hook: AnyHook): string[];
  rows(): Iterable<{ hook: AnyHook; plugin: string }>;
  readonly inFlight: ReadonlySet<InFlight>;
}

interface Tap {
  plugin: string;
  rank: number;
  stage: number;
  before: string[];
  fn: (...args: unknown[]) => unknown;
}

/** Runs plugin code as that plugin (attribution.ts). */
export type RunAs = <T>(plugin: string, fn: () => T) => T;

export function hooks(report: (plugin: string, where: string, error: unknown) => void, runAs: RunAs): Hooks {
  const table = new Map<AnyHook, { taps: Tap[]; compiled?: Compiled | undefined }>();
  const inFlight = new Set<InFlight>();
  return {
    inFlight,
    tap(key, plugin, rank, fn, order = {}) {
      const row = table.get(key) ?? { taps: [] };
      table.set(key, row);
      const before = order.before === undefined ? [] : [order.before].flat();
      const tap: Tap = { plugin, rank, stage: order.stage ?? 0, before, fn: fn as Tap["fn"] };
      row.taps.push(tap);
      row.taps.sort((a, b) => a.rank - b.rank);
      row.compiled = undefined;
      return () => {
        row.taps = row.taps.filter((other) => other !== tap);
        row.compiled = undefined;
      };
    },
    call(key, ...args) {
      const row = table.get(key);
      const none = (key.kind === "transform" ? args[0] : undefined) as never;
      if (!row || row.taps.length === 0) return none;
      row.compiled ??= compile(key, row.taps, report, runAs, inFlight);
      return row.compiled(args) as never;
    },
    taps: (key) => ordered(table.get(key)?.taps ?? []).map((tap) => tap.plugin),
    *rows() {
      for (const [key, row] of table) for (const tap of ordered(row.taps)) yield { hook: key, plugin: tap.plugin };
    },
  };
}

type Compiled = (args: readonly unknown[]) => unknown;

/** Plugin order, then stage, then `before`: those that must precede a tap come right ahead of it. */
function ordered(taps: readonly Tap[]): Tap[] {
  const list = [...taps].sort((a, b) => a.stage - b.stage);
  const placed = new Set<Tap>();
  const entered = new Set<Tap>();
  const place = (tap: Tap) => {
    if (entered.has(tap)) return;
    entered.add(tap);
    for (const other of list) if (other.before.includes(tap.plugin)) place(other);
    placed.add(tap);
  };
  for (const tap of list) place(tap);
  return [...placed];
}

/** tapable's engines get the arguments as one array: their own arity is fixed when they are compiled. */
function compile(
  key: AnyHook,
  taps: readonly Tap[],
  report: (plugin: string, where: string, error: unknown) => void,
  runAs: RunAs,
  inFlight: Set<InFlight>,
): Compiled {
  const where = `hook ${key.name}`;
  const list = ordered(taps);
  const run = (tap: Tap, args: readonly unknown[]) => guarded(key, tap, args, runAs, inFlight);
  switch (key.kind) {
    case "observe": {
      const engine = new SyncHook<[readonly unknown[]]>(["args"]);
      for (const tap of list)
        engine.tap(tap.plugin, (args) => {
          try {
            const result = runAs(tap.plugin, () => tap.fn(...args, unlimited));
            if (isThenable(result)) result.then(undefined, (error: unknown) => report(tap.plugin, where, error));
          } catch (error) {
            report(tap.plugin, where, error);
          }
        });
      return (args) => engine.call(args);
    }
    case "series":
    case "parallel": {
      const engine =
        key.kind === "series"
          ? new AsyncSeriesHook<[readonly unknown[]]>(["args"])
          : new AsyncParallelHook<[readonly unknown[]]>(["args"]);
      for (const tap of list)
        engine.tapPromise(tap.plugin, async (args) => {
          try {
            await run(tap, args);
          } catch (error) {
            report(tap.plugin, where, error);
          }
        });
      return (args) => engine.promise(args);
    }
    case "transform": {
      const engine = new AsyncSeriesWaterfallHook<[unknown, readonly unknown[]]>(["value", "rest"]);
      for (const tap of list)
        engine.tapPromise(tap.plugin, async (value, rest) => {
          try {
            return (await run(tap, [value, ...rest])) ?? value;
          } catch (error) {
            report(tap.plugin, where, error);
            return value;
          }
        });
      return ([value, ...rest]) => engine.promise(value, rest);
    }
    case "gate": {
      const engine = new AsyncSeriesBailHook<[readonly unknown[]], unknown>(["args"]);
      for (const tap of list)
        engine.tapPromise(tap.plugin, async (args) => {
          try {
            return checkAnswer(await run(tap, args));
          } catch (error) {
            report(tap.plugin, where, error);
            if (key.onThrow === "pass") return undefined;
            return { block: `${tap.plugin}: ${where} failed: ${messageOf(error)}` } satisfies Block;
          }
        });
      return (args) => engine.promise(args);
    }
  }
}

/** The caller of a gate reads fields of its answer: what is no object is the tap's fault. */
function checkAnswer(answer: unknown): unknown {
  if (answer === undefined || (typeof answer === "object" && answer !== null)) return answer;
  throw new TypeError(`gave ${answer === null ? "null" : typeof answer}, not an answer`);
}

/** `observe` is synchronous: there is nothing to abort. */
const unlimited: HookCall = {
  get signal() {
    return new AbortController().signal;
  },
};

/** One tap with its time limit, visible in `inFlight` while it runs. */
async function guarded(
  key: AnyHook,
  tap: Tap,
  args: readonly unknown[],
  runAs: RunAs,
  inFlight: Set<InFlight>,
): Promise<unknown> {
  const flight: InFlight = { hook: key.name, plugin: tap.plugin, since: Date.now() };
  let controller: AbortController | undefined;
  const call: HookCall = {
    get signal() {
      controller ??= new AbortController();
      return controller.signal;
    },
  };
  inFlight.add(flight);
  let timer: NodeJS.Timeout | undefined;
  try {
    const result = runAs(tap.plugin, () => tap.fn(...args, call));
    if (!isThenable(result) || key.limit === 0) return await result;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        const error = new OllieError("E_HOOK", `${tap.plugin}: hook ${key.name} did not answer in ${key.limit} ms`);
        controller?.abort(error);
        reject(error);
      }, key.limit);
      timer.unref();
    });
    return await Promise.race([result, late]);
  } finally {
    clearTimeout(timer);
    inFlight.delete(flight);
  }
}
