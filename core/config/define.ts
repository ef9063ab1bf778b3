/** What an ollie.config.ts is made of. */
import { readFileSync } from "node:fs";
import { messageOf, OllieError } from "../errors.ts";
import type { LogLevel } from "../log.ts";
import type { ListenAt, Use } from "../plugin.ts";

export interface Config {
  /** Where to serve. Default `unix`: the socket `ollie` in the name space directory. */
  listen?: "unix" | Exclude<ListenAt, { duplex: unknown }>;
  /** Default: `$OLLIE_LOG`, else `warn`. */
  log?: LogLevel;
  plugins: readonly Use[];
}

/** Types the config: wrong names of options fail in the editor. */
export const defineConfig = (config: Config): Config => config;

const reference = Symbol("reference");

interface Reference {
  readonly [reference]: () => string | undefined;
  /** What may be shown in place of the value. */
  toJSON(): string;
}

/** The value of an environment variable, read when the plugin starts and never shown. Unset: `fallback`, else the option is unset. */
export function env(name: string, fallback?: string): string {
  const ref: Reference = { [reference]: () => process.env[name] || fallback, toJSON: () => `env(${name})` };
  return ref as unknown as string;
}

/** The text of a file without its last newline, read when the plugin starts and never shown. `path` is absolute: a daemon works in /. */
export function file(path: string): string {
  const ref: Reference = {
    [reference]: () => readFileSync(path, "utf8").replace(/\r?\n$/, ""),
    toJSON: () => `file(${path})`,
  };
  return ref as unknown as string;
}

const isReference = (value: object): value is Reference => reference in value;

/**
 * Options with every value in place of its reference; an unset one leaves its key out. Throws OllieError E_CONFIG that
 * begins with `at`, the path of keys so far.
 */
export function resolveReferences(value: unknown, at: string): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (isReference(value)) {
    try {
      return value[reference]();
    } catch (error) {
      throw new OllieError("E_CONFIG", `${at}: ${value.toJSON()}: ${messageOf(error)}`);
    }
  }
  if (Array.isArray(value)) return value.map((one, i) => resolveReferences(one, `${at}.${i}`));
  const proto = Object.getPrototypeOf(value);
  if (proto !== Object.prototype && proto !== null) return value;
  const entries = Object.entries(value).map(([key, below]) => [key, resolveReferences(below, `${at}.${key}`)] as const);
  return Object.fromEntries(entries.filter(([, below]) => below !== undefined));
}
