/** The logger that core and plugins write to. A plugin (log-pino) gives a real one; without one, nothing is written. */
import { token } from "./services.ts";

export const logLevels = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof logLevels)[number];

/** `fields` must never hold a key or a token. */
export interface Logger {
  debug(message: string, fields?: Record<string, unknown>): void;
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
  /** A logger whose lines carry `fields` too. */
  child(fields: Record<string, unknown>): Logger;
}

export const silent: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => silent,
};

/**
 * The logger of a plugin that writes lines somewhere (log-pino). The kernel keeps the lines of the start until it is
 * provided, then hands them over.
 */
export const LogSink = token<Logger>("log");

/** A logger that keeps lines until `sink` names where they go; with `first` given they go there from the start. */
export function bufferedLog(first?: Logger): { log: Logger; sink(to: Logger): void } {
  let target = first;
  let kept: (() => void)[] = [];
  const keep = 1000;
  const make = (fields: Record<string, unknown> | undefined): Logger => {
    let child: Logger | undefined;
    let of: Logger | undefined;
    const now = (): Logger | undefined => {
      if (!target || !fields) return target;
      if (of !== target) child = target.child(fields);
      of = target;
      return child;
    };
    const at = (level: LogLevel) => (message: string, more?: Record<string, unknown>) => {
      const to = now();
      if (to) to[level](message, more);
      else if (kept.length < keep) kept.push(() => now()?.[level](message, more));
    };
    return {
      debug: at("debug"),
      info: at("info"),
      warn: at("warn"),
      error: at("error"),
      child: (more) => make({ ...fields, ...more }),
    };
  };
  return {
    log: make(undefined),
    sink(to) {
      target = to;
      const lines = kept;
      kept = [];
      for (const line of lines) line();
    },
  };
}
