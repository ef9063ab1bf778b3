/** Finds and ends processes by ancestry and by the cookie in their environment. Linux: reads /proc. */
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** The variable that marks every process of a toolsrv: a cookie for itself, `{cookie}.{agent}.{n}.` for those of one call. */
export const cookieVariable = "OLLIE_PROC";

/** A new cookie: `{mark of its daemon}{uuid}`. */
export const cookieOf = (daemon: number): string => markOf(daemon) + randomUUID();

/** What all cookies of a daemon begin with: which it is, and where that number means it. `{pid}-{start time}-{pid namespace}-` */
export const markOf = (daemon: number): string => `${daemon}-${startTime(daemon) ?? 0}-${namespaceOf("self")}-`;

/** The number of a process's pid namespace: a container has its own. 0: it can not be told. */
function namespaceOf(pid: number | "self"): string {
  try {
    return /\d+/.exec(readlinkSync(`/proc/${pid}/ns/pid`))?.[0] ?? "0";
  } catch {
    return "0";
  }
}

export interface Whose {
  /** Descendants of this process; itself not. */
  root?: number;
  /** Processes whose OLLIE_PROC starts with this, and their descendants. */
  cookie?: string;
  /** Children of this process that bear the mark of tools, and their descendants; but not these, nor what is below them. */
  adoptedBut?: ReadonlySet<number>;
  /** Processes as `identify` gave them, and their descendants. */
  known?: ReadonlyMap<number, string>;
}

/** Pids, without this process itself and without zombies. */
export function members({ root, cookie, adoptedBut, known }: Whose): number[] {
  const children = new Map<number, number[]>();
  const alive: number[] = [];
  for (const entry of readProc()) {
    const parent = parentOf(entry);
    if (parent === undefined) continue;
    alive.push(entry);
    const siblings = children.get(parent);
    if (siblings) siblings.push(entry);
    else children.set(parent, [entry]);
  }
  const found = new Set<number>();
  const addBelow = (pid: number) => {
    for (const child of children.get(pid) ?? [])
      if (!found.has(child)) {
        found.add(child);
        addBelow(child);
      }
  };
  const add = (pid: number) => {
    found.add(pid);
    addBelow(pid);
  };
  if (root !== undefined) addBelow(root);
  for (const [pid, start] of known ?? []) if (startTime(pid) === start) add(pid);
  if (adoptedBut)
    for (const pid of children.get(process.pid) ?? []) if (!adoptedBut.has(pid) && isMarked(pid)) add(pid);
  if (cookie !== undefined)
    for (const pid of alive) if (pid !== process.pid && !found.has(pid) && carries(pid, cookie)) add(pid);
  found.delete(process.pid);
  return [...found];
}

/**
 * Kills them, until two looks in a row find nobody: between two looks a process may have forked, or lost its parent.
 * Stopped first, so that none of them can start another while the rest is killed.
 */
export async function sweep(whose: Whose): Promise<number> {
  let killed = 0;
  for (let empty = 0, round = 0; empty < 2 && round < 50; round++) {
    const pids = members(whose);
    if (pids.length === 0) empty++;
    else {
      empty = 0;
      for (const pid of pids) signal(pid, "SIGSTOP");
      for (const pid of pids) if (signal(pid, "SIGKILL")) killed++;
    }
    await sleep(10);
  }
  return killed;
}

/**
 * Ends what daemons that were killed have left: their cookies name a daemon that is gone. Such a process may be in a pid
 * namespace of its own, as in bubblewrap; it is the daemon's that has to be ours.
 */
export async function sweepDead(): Promise<void> {
  const here = namespaceOf("self");
  const dead = new Set<string>();
  for (const pid of readProc()) {
    const [mark, owner, start, namespace] = /^(\d+)-(\d+)-(\d+)-/.exec(cookieIn(pid) ?? "") ?? [];
    if (mark !== undefined && namespace === here && startTime(Number(owner)) !== start) dead.add(mark);
  }
  for (const cookie of dead) await sweep({ cookie });
}

/** Sends a signal; false where there is no such process or group (negative), or it is somebody else's. */
export function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

/** Processes with their start times, so that they are still told from others when their pids are given anew. */
export const identify = (pids: readonly number[]): Map<number, string> =>
  new Map(
    pids.flatMap((pid) => [[pid, startTime(pid)] as const].filter((pair): pair is [number, string] => !!pair[1])),
  );

/**
 * The mark of tools: their oom_score_adj is higher than the daemon's. It is inherited, and it survives an emptied
 * environment and a new session; and when memory runs out the kernel ends a tool and not the daemon.
 */
const markStep = 100;

const oomScore = (pid: number | "self"): number => {
  try {
    return Number(readFileSync(`/proc/${pid}/oom_score_adj`, "utf8"));
  } catch {
    return Number.NaN;
  }
};

/** Marks this process and all that it will start. */
export function markTools(): void {
  try {
    writeFileSync("/proc/self/oom_score_adj", String(Math.min(1000, oomScore("self") + markStep)));
  } catch {
    // then only ancestry and environment tell
  }
}

/** Whether `pid` bears the mark, seen from the daemon. */
function isMarked(pid: number): boolean {
  const own = oomScore("self");
  return own < 1000 && oomScore(pid) >= Math.min(1000, own + markStep);
}

/** Children of a process's main thread, to which orphans come; zombies too. */
export function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").split(" ").filter(Boolean).map(Number);
  } catch {
    return readProc().filter((each) => Number(statFields(each)?.[1]) === pid);
  }
}

export const isZombie = (pid: number): boolean => statFields(pid)?.[0] === "Z";

/** When the process started, in clock ticks since boot: with the pid it names a process for good. Undefined: gone. */
export const startTime = (pid: number): string | undefined => statFields(pid)?.[19];

/** The program's name, for people. */
export function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, "utf8").trim();
  } catch {
    return "?";
  }
}

function readProc(): number[] {
  try {
    return readdirSync("/proc")
      .map(Number)
      .filter((pid) => pid > 0);
  } catch {
    return [];
  }
}

/** Fields of /proc/PID/stat behind the name, which may hold blanks: state, parent, … */
function statFields(pid: number): string[] | undefined {
  try {
    const line = readFileSync(`/proc/${pid}/stat`, "latin1");
    return line.slice(line.lastIndexOf(")") + 2).split(" ");
  } catch {
    return undefined;
  }
}

function parentOf(pid: number): number | undefined {
  const [state, parent] = statFields(pid) ?? [];
  return state === undefined || state === "Z" ? undefined : Number(parent);
}

const carries = (pid: number, cookie: string): boolean => cookieIn(pid)?.startsWith(cookie) ?? false;

/** A process's cookie; undefined: it has none, or is somebody else's. */
function cookieIn(pid: number): string | undefined {
  try {
    const env = readFileSync(`/proc/${pid}/environ`, "latin1");
    const mark = `${cookieVariable}=`;
    const at = env.startsWith(mark) ? 0 : env.indexOf(`\0${mark}`) + 1;
    if (at === 0 && !env.startsWith(mark)) return undefined;
    const end = env.indexOf("\0", at);
    return env.slice(at + mark.length, end < 0 ? undefined : end);
  } catch {
    return undefined;
  }
}
