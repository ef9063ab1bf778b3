/** Which jobs of one reply may run side by side. */
import type { Job, Scheduler } from "./types.ts";

/** Whether the later job has to wait for the earlier one. */
function conflict(earlier: Job<unknown>, later: Job<unknown>): boolean {
  if (runsAlone(earlier) || runsAlone(later)) return true;
  return earlier.scope === "write" && later.scope === "write" && earlier.resource === later.resource;
}

const runsAlone = (job: Job<unknown>): boolean =>
  job.scope === "global" || (job.scope === "write" && job.resource === undefined);

/**
 * Every job waits for the earlier ones that it conflicts with, and for nothing else: a write that waits for its file
 * does not hold up the reads behind it. Jobs that may start at the same moment start in the order of the list.
 */
export const schedule: Scheduler["schedule"] = <T>(
  jobs: readonly Job<T>[],
  signal: AbortSignal,
  notStarted: (job: Job<T>) => T,
): Promise<T>[] => {
  const results: Promise<T>[] = [];
  for (const job of jobs) {
    const blockers = results.filter((_, i) => conflict(jobs[i] as Job<T>, job));
    results.push(Promise.allSettled(blockers).then(() => (signal.aborted ? notStarted(job) : job.run())));
  }
  return results;
};
