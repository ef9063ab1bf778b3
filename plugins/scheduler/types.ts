/** What others may import of plugin scheduler. */
import { token } from "#core";

/** `read` never conflicts; `write` conflicts on the same resource; `global` runs alone. */
export type ToolScope = "read" | "write" | "global";

export interface Job<T> {
  scope: ToolScope;
  /** For `write`: the real path that it changes. Without one it counts as `global`. */
  resource?: string;
  /** Must not throw: its failures are results. */
  run(): Promise<T>;
}

export interface Scheduler {
  /**
   * Starts the jobs of one reply as their scopes allow, in order; the promises are in the order of the jobs.
   * After `signal` aborts nothing more is started: such a job's promise gives `notStarted(job)`.
   */
  schedule<T>(jobs: readonly Job<T>[], signal: AbortSignal, notStarted: (job: Job<T>) => T): Promise<T>[];
}

export const Scheduler = token<Scheduler>("scheduler");
