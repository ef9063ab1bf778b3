/** A Logger over pino: JSON lines into a file, or `tag: message` for people on stdout and stderr, with the time where no terminal shows it. */
import { chmodSync } from "node:fs";
import type { Logger as Pino } from "pino";
import type { Logger } from "#core";
import { tagOf } from "./lazy.ts";
import { type Level, type Levels, readLevels } from "./levels.ts";
import { redactFields, redactLine } from "./redact.ts";

export interface LogOptions {
  /** Where neither OLLIE_LOG nor OLLIE_{TAG}_LOG says another. Default warn. */
  level?: Level;
  /** A file that JSON lines are appended to, made 0600. Default: debug and info on stdout, warn and error on stderr. */
  file?: string;
  /** For tests. Default: the process's own. */
  out?: Writer;
  err?: Writer;
}

export interface Writer {
  write(text: string): unknown;
  readonly isTTY?: boolean;
}

/** Loads pino, too. Throws where the file can not be opened. */
export async function createLogger(options: LogOptions = {}): Promise<Logger> {
  const { pino } = await import("pino");
  const levels = readLevels(options.level);
  const { out = unwatched(process.stdout), err = unwatched(process.stderr) } = options;
  const to = options.file === undefined ? people(out, err) : lines(pino.destination, options.file);
  const root = pino(
    {
      level: levels.of("core"),
      base: null,
      formatters: { level: (label) => ({ level: label }), log: redactFields },
    },
    to,
  );
  const logger = wrap(root, levels);
  for (const fault of levels.faults) logger.warn(fault);
  return logger;
}

const ignore = () => {};

/** Where nobody reads any more, lines are lost. Uncaught, that error would be logged to the same place, and so on for ever. */
function unwatched(stream: NodeJS.WriteStream): NodeJS.WriteStream {
  return stream.listeners("error").includes(ignore) ? stream : stream.on("error", ignore);
}

function wrap(pino: Pino, levels: Levels): Logger {
  return {
    debug: (message, fields = {}) => pino.debug(fields, message),
    info: (message, fields = {}) => pino.info(fields, message),
    warn: (message, fields = {}) => pino.warn(fields, message),
    error: (message, fields = {}) => pino.error(fields, message),
    child(fields) {
      const own = tagOf(fields);
      return wrap(pino.child(redactFields(fields), own === undefined ? {} : { level: levels.of(own) }), levels);
    },
  };
}

function lines(destination: typeof import("pino").destination, file: string): Writer {
  const to = destination({ dest: file, mode: 0o600, mkdir: true, sync: true });
  chmodSync(file, 0o600);
  return { write: (line) => to.write(redactLine(line)) };
}

/** One line each, without the stack: that is for the file, and for `debug`. */
function people(out: Writer, err: Writer): Writer {
  return {
    write(line) {
      const { level, time, msg, tag, plugin, stack, ...fields } = JSON.parse(line) as Record<string, unknown>;
      const to = level === "warn" || level === "error" ? err : out;
      const when = to.isTTY ? "" : `${new Date(time as number).toISOString()} `;
      const more = Object.entries(fields).map(([name, value]) => ` ${name}=${textOf(value)}`);
      const text = `${when}${tag ?? plugin ?? "core"}: ${msg}${more.join("")}`.replace(/[\r\n]+/g, " ");
      const trace = typeof stack === "string" && process.env.OLLIE_LOG === "debug" ? `\n${stack}` : "";
      to.write(`${redactLine(text + trace)}\n`);
    },
  };
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));
