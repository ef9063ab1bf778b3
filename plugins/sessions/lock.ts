/**
 * One writer per folder. A lock is a file `lock.N` that names its process; the highest N whose process lives holds the
 * folder. link(2) lets one starter alone take the next number, so nobody ever removes a lock that somebody just took,
 * and a process that was killed with -9 stops to hold it without any clean-up. All of it is synchronous: at the start there is
 * nothing else to do, and Node's threads for files, which each call would visit, are not even made.
 */
import { linkSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { OllieError } from "#core";

interface Holder {
  pid: number;
  /** When the process started, in clock ticks since boot: tells it from a later process of the same number. */
  started: string;
}

const lockFile = /^lock\.(\d{1,15})$/;
export const isLockFile = (name: string): boolean => lockFile.test(name);

/** Takes the folder or throws OllieError naming the process that holds it. Gives what releases it. */
export function lock(dir: string): () => void {
  const own: Holder = { pid: process.pid, started: startOf(process.pid) ?? "" };
  const draft = join(dir, `.lock-${process.pid}-${Math.random().toString(36).slice(2)}`);
  writeFileSync(draft, `${JSON.stringify(own)}\n`, { mode: 0o600, flag: "wx" });
  try {
    for (;;) {
      const top = numbers(dir).at(-1) ?? 0;
      refuseIfHeld(dir, top);
      if (!claim(draft, join(dir, `lock.${top + 1}`))) continue;
      return settle(dir, top + 1);
    }
  } finally {
    rmSync(draft, { force: true });
  }
}

/** A listing may have missed a lock that was made while it ran: look again, now that ours is there. */
function settle(dir: string, mine: number): () => void {
  const release = () => rmSync(join(dir, `lock.${mine}`), { force: true });
  for (const other of numbers(dir)) {
    if (other < mine) rmSync(join(dir, `lock.${other}`), { force: true });
    if (other > mine) {
      release();
      refuseIfHeld(dir, other);
      throw new OllieError("E_START", `sessions: ${dir} was taken by another daemon at the same moment, start again`);
    }
  }
  return release;
}

function claim(draft: string, path: string): boolean {
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

function refuseIfHeld(dir: string, number: number): void {
  const holder = read(join(dir, `lock.${number}`));
  if (!holder || startOf(holder.pid) !== holder.started) return;
  throw new OllieError("E_START", `${dir} is in use by process ${holder.pid} (stop it or set OLLIE_DATA_PATH)`);
}

/** Numbers of the lock files, lowest first. */
function numbers(dir: string): number[] {
  const found = readdirSync(dir)
    .map((name) => lockFile.exec(name)?.[1])
    .filter((n) => n !== undefined);
  return found.map(Number).sort((a, b) => a - b);
}

function read(path: string): Holder | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
}

/** Start time of a living process; undefined where there is none. Without /proc: "" for a living one. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // the command in parentheses may hold blanks: count fields behind its end. Field 22 is starttime, 3 the state
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" || fields[0] === "X" ? undefined : fields[19];
  } catch {
    if (process.platform === "linux") return undefined;
  }
  try {
    process.kill(pid, 0);
    return "";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM" ? "" : undefined;
  }
}
