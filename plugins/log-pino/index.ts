/** Plugin log-pino: writes the log lines of the kernel and of all plugins. */
import * as z from "zod";
import { definePlugin, LogSink } from "#core";
import { levels } from "./levels.ts";
import { createLogger } from "./logger.ts";

export default definePlugin({
  name: "log-pino",
  doc: "Writes log lines: debug and info to stdout, warn and error to stderr, or JSON into a file. OLLIE_LOG sets the level.",
  provides: [LogSink],
  config: z
    .strictObject({
      /** Where neither OLLIE_LOG nor OLLIE_{TAG}_LOG says another. */
      level: z.enum(levels).default("warn"),
      /** A file for JSON lines, instead of stdout and stderr. */
      file: z.string().optional(),
    })
    .prefault({}),
  async setup(api) {
    const { level, file } = api.config;
    api.provide(LogSink, await createLogger({ level, ...(file !== undefined && { file }) }));
  },
});
