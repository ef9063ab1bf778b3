import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";

/** Running, and not only waiting to be reaped. */
export function alive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return !stat.slice(stat.lastIndexOf(")")).startsWith(") Z");
  } catch {
    return false;
  }
}

/** Waits until `test` holds, and fails if it never does. */
export async function until(test: () => boolean): Promise<void> {
  for (let i = 0; i < 400 && !test(); i++) await sleep(25);
  expect(test()).toBe(true);
}

/** Shell text that starts four processes which are hard to get rid of, and prints their pids. */
export const stubborn =
  'trap "" TERM; sleep 901 & echo $!; setsid sleep 902 & echo $!; (setsid sleep 903 & echo $!); sleep 904 & echo $!; ';

/** As `stubborn`, with three that are hard to find: no environment, no parent, a session of their own. */
export const escaped = `${stubborn} for i in 1 2 3; do (env -i setsid /bin/sh -c 'echo $$; exec sleep 908' &) ; done; sleep 0.3; `;
