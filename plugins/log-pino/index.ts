/** Plugin log-pino: writes the log lines of the kernel and of all plugins. */
import * as z from "zod/mini";
import { definePlugin, LogSink } from "#core";
import { options } from "#plugins/options";
import { lazyLogger } from "./lazy.ts";
import { levels, readLevels } from "./levels.ts";
import { createLogger } from "./logger.ts";

export default definePlugin({
  name: "log-pino",
  doc: "Writes log lines: debug and info to stdout, warn and error to stderr, or JSON into a file. OLLIE_LOG sets the level.",
  provides: [LogSink],
  config: options(
    z.strictObject({
      /** Where neither OLLIE_LOG nor OLLIE_{TAG}_LOG says another. */
      level: z._default(z.enum(levels), "warn"),
      /** A file for JSON lines, instead of stdout and stderr. */
      file: z.optional(z.string()),
    }),
  ),
  async setup({ config, dryRun, defer, provide }) {
    const { level, file } = config;
    // A file that can not be opened fails the start.
    if (file !== undefined && !dryRun) return provide(LogSink, await createLogger({ level, file }));
    const { log, written } = lazyLogger(readLevels(level), () => createLogger({ level }));
    provide(LogSink, log);
    defer(written);
  },
});
