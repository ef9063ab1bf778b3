/** What others may import of plugin log-pino. */
export type { Level } from "./levels.ts";
export { createLogger, type LogOptions } from "./logger.ts";
