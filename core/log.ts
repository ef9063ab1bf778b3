/** The logger that core and plugins write to. A plugin (log-pino) gives a real one; without one, nothing is written. */
import { token } from "./services.ts";

export type LogLevel = "debug" | "info" | "warn" | "error";

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
