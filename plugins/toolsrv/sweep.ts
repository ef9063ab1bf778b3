/** Finds and ends processes by ancestry and by the cookie in their environment. Linux: reads /proc. */
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** The variable that marks every process of a toolsrv: `{uuid}` for itself, `{uuid}.{n}.` for those of one call. */
export const cookieVariable = "OLLIE_PROC";

export interface Whose {
  /** Descendants of this process; itself not. */
  root?: number;
  /** Processes whose OLLIE_PROC starts with this, and their descendants. */
  cookie?: string;
}

/** Pids, without this process itself and without zombies. */
export function members({ root, cookie }: Whose): number[] {
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
  if (root !== undefined) addBelow(root);
  if (cookie !== undefined)
    for (const pid of alive)
      if (pid !== process.pid && !found.has(pid) && carries(pid, cookie)) {
        found.add(pid);
        addBelow(pid);
      }
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

/** Sends a signal; false where there is no such process or group (negative), or it is somebody else's. */
export function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

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

function carries(pid: number, cookie: string): boolean {
  try {
    const env = readFileSync(`/proc/${pid}/environ`, "latin1");
    const mark = `${cookieVariable}=${cookie}`;
    return env.startsWith(mark) || env.includes(`\0${mark}`);
  } catch {
    return false;
  }
}
