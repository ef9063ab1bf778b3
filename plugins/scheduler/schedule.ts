/** Which jobs of one reply may run side by side. */
import type { Job, Scheduler } from "./types.ts";

const runsAlone = (job: Job<unknown>): boolean =>
  job.scope === "global" || (job.scope === "write" && job.resource === undefined);

/**
 * Every job waits for the earlier ones that it conflicts with, and for nothing else: a write that waits for its file
 * does not hold up the reads behind it. Jobs that may start at the same moment start in the order of the list. A job waits
 * for the last of those that wait for one another themselves: a model that is stuck makes thousands of calls.
 */
export const schedule: Scheduler["schedule"] = <T>(
  jobs: readonly Job<T>[],
  signal: AbortSignal,
  notStarted: (job: Job<T>) => T,
): Promise<T>[] => {
  /** The last one that runs alone, those behind it, and the last of them that writes a resource. */
  let alone: Promise<unknown> = Promise.resolve();
  let behind: Promise<T>[] = [];
  let writers = new Map<string | undefined, Promise<T>>();
  return jobs.map((job) => {
    const writer = job.scope === "write" ? writers.get(job.resource) : undefined;
    const blockers = runsAlone(job) ? [alone, ...behind] : [alone, ...(writer ? [writer] : [])];
    const result = Promise.allSettled(blockers).then(() => (signal.aborted ? notStarted(job) : job.run()));
    if (runsAlone(job)) {
      alone = result;
      behind = [];
      writers = new Map();
    } else {
      behind.push(result);
      if (job.scope === "write") writers.set(job.resource, result);
    }
    return result;
  });
};
