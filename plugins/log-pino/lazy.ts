/** A Logger that loads the real one at the first line that is to be written: most starts write none, and pino is dear. */
import type { Logger, LogLevel } from "#core";
import { type Levels, levels as order } from "./levels.ts";

export interface LazyLogger {
  log: Logger;
  /** Resolves when all lines so far are written. */
  written(): Promise<void>;
}

/** Lines that are kept where the real one can not be loaded. */
const most = 1_000;

/**
 * `load` gives the real one; it is called with the first line, or never. Lines that come while it loads are kept, in order.
 * Where it fails (no descriptor may be left) the next line calls it again: to log must not hurt who does.
 */
export function lazyLogger(levels: Levels, load: () => Promise<Logger>): LazyLogger {
  let loaded: Logger | undefined;
  let loading: Promise<void> | undefined;
  const kept: (() => void)[] = [];

  const start = async () => {
    try {
      loaded = await load();
    } catch {
      loading = undefined;
      return;
    }
    for (const write of kept.splice(0)) write();
  };

  const make = (tag: string, find: () => Logger): Logger => {
    let found: Logger | undefined;
    const at = (level: LogLevel) => (message: string, fields?: Record<string, unknown>) => {
      if (order.indexOf(level) < order.indexOf(levels.of(tag))) return;
      const write = () => {
        found ??= find();
        found[level](message, fields);
      };
      if (loaded) return write();
      if (kept.length < most) kept.push(write);
      loading ??= start();
    };
    return {
      debug: at("debug"),
      info: at("info"),
      warn: at("warn"),
      error: at("error"),
      child: (fields) => make(tagOf(fields) ?? tag, () => find().child(fields)),
    };
  };

  // The real one tells what is wrong with the variables.
  if (levels.faults.length > 0) loading = start();
  return {
    log: make("core", () => loaded as Logger),
    written: async () => loading ?? (kept.length > 0 ? start() : undefined),
  };
}

/** The tag by which a logger made with `fields` is named: OLLIE_{TAG}_LOG. */
export function tagOf({ tag, plugin }: Record<string, unknown>): string | undefined {
  return [tag, plugin].find((name) => typeof name === "string") as string | undefined;
}
