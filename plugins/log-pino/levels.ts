/** Which lines are written: OLLIE_LOG for all, OLLIE_{TAG}_LOG for one tag (a plugin's name, or core). */
import type { LogLevel } from "#core";

export const levels = ["debug", "info", "warn", "error", "silent"] as const satisfies readonly (LogLevel | "silent")[];
export type Level = (typeof levels)[number];

export interface Levels {
  of(tag: string): Level;
  /** What is wrong with the variables, a sentence each. */
  readonly faults: readonly string[];
}

/** `level`: where no variable says another. Default warn. */
export function readLevels(level: Level = "warn", env: NodeJS.ProcessEnv = process.env): Levels {
  const faults: string[] = [];
  const read = (name: string): Level | undefined => {
    const value = env[name]?.trim().toLowerCase();
    if (value === undefined || value === "") return undefined;
    const known = levels.find((one) => one === value);
    if (known) return known;
    const fault = `${name}: unknown level ${JSON.stringify(value)} (levels: ${levels.join(" ")})`;
    if (!faults.includes(fault)) faults.push(fault);
    return undefined;
  };
  const all = read("OLLIE_LOG") ?? level;
  return {
    of: (tag) => read(`OLLIE_${tag.toUpperCase().replace(/[^A-Z0-9]/g, "_")}_LOG`) ?? all,
    faults,
  };
}
