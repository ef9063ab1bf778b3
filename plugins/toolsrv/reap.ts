/** Reaps orphans that this process adopted. Never with waitpid(-1): that would take the statuses that Node waits for. */
import { type Libc, loadLibc } from "./libc.ts";
import { childrenOf, isZombie, startTime } from "./sweep.ts";

export interface ReapOptions {
  /** Whether Node itself waits for a child; undefined: nobody knows. */
  mine?: (pid: number) => boolean;
}

/** Milliseconds in which Node takes the status of a child of its own: what is a zombie for longer is an orphan. */
const grace = 1000;
/** Milliseconds after which deaths are looked at together. */
const gather = 10;

/** Looks whenever a child died; costs nothing in between. Returns its undo. */
export function reapOrphans(libc: Libc, { mine }: ReapOptions = {}): () => void {
  let timer: NodeJS.Timeout | undefined;
  let seen = new Map<number, string | undefined>();
  const later = (ms: number) => {
    timer ??= setTimeout(look, ms).unref();
  };
  const look = () => {
    timer = undefined;
    const waiting = new Map<number, string | undefined>();
    for (const pid of childrenOf(process.pid)) {
      if (mine?.(pid) || !isZombie(pid)) continue;
      const start = startTime(pid);
      if (mine || seen.get(pid) === start) libc.wait(pid);
      else waiting.set(pid, start);
    }
    seen = waiting;
    if (seen.size > 0) later(grace);
  };
  const died = () => later(gather);
  process.on("SIGCHLD", died);
  return () => {
    process.off("SIGCHLD", died);
    clearTimeout(timer);
  };
}

let adopting: Promise<void> | undefined;

/** Once in a process: what loses its parent below it comes here, so that it can be found. */
export function adoptOrphans(): Promise<void> {
  adopting ??= loadLibc().then(({ libc }) => {
    libc?.adoptOrphans();
    if (libc) reapOrphans(libc);
  });
  return adopting;
}
