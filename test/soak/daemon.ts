/** The built daemon in a place of its own: started, killed, ended, and looked at from outside. No test library is needed. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, connect } from "#core/client";

/** Where the package lies. Run from its root. */
const program = join(process.cwd(), "dist/core/bin/olliesrv.js");

export interface Place {
  readonly dir: string;
  /** What sessions work on. */
  readonly work: string;
  /** The saved sessions. */
  readonly sessions: string;
  readonly env: Record<string, string>;
  remove(): void;
}

/** A fresh home. Not too deep: socket paths are short. */
export function place(env: Record<string, string>, above = "/tmp"): Place {
  const dir = realpathSync(mkdtempSync(join(above, "ollie-k-")));
  const work = join(dir, "work");
  for (const path of [work, join(dir, "ns")]) mkdirSync(path, { mode: 0o700 });
  const { PATH = "", OLLIE_ISOLATION } = process.env;
  return {
    dir,
    work,
    sessions: join(dir, ".local/share/ollie/sessions"),
    env: {
      // Node 24 lets its young generation grow for thousands of turns, and that is not what is looked for.
      NODE_OPTIONS: "--max-semi-space-size=8",
      ...{ PATH, HOME: dir, TMPDIR: dir, NAMESPACE: join(dir, "ns") },
      ...(OLLIE_ISOLATION ? { OLLIE_ISOLATION } : {}),
      ...env,
    },
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}

export interface Daemon {
  readonly pid: number;
  readonly client: Client;
  /** Another connection. */
  connect(): Promise<Client>;
  /** What it wrote to standard error. */
  said(): string;
  /** kill -9; resolves when it is gone. */
  kill(): Promise<void>;
  /** SIGTERM; resolves with exit status and milliseconds when it is gone. */
  term(): Promise<{ code: number | null; ms: number }>;
}

/** Starts the daemon; rejects with what it says where it ends at once. `args`: more arguments. */
export async function daemon(at: Place, args: string[] = []): Promise<Daemon> {
  const child = spawn(process.execPath, [program, "fgstart", ...args], {
    cwd: at.dir,
    env: at.env,
    stdio: ["ignore", "ignore", "pipe"],
  });
  let text = "";
  child.stderr.on("data", (chunk) => {
    text += chunk;
  });
  const gone = new Promise<number | null>((resolve) => child.once("close", resolve));
  await serving(child, () => text);
  const socket = join(at.dir, "ns", "ollie");
  const client = await connect({ unix: socket });
  return {
    pid: child.pid as number,
    client,
    connect: () => connect({ unix: socket }),
    said: () => text,
    async kill() {
      child.kill("SIGKILL");
      await gone;
    },
    async term() {
      const began = performance.now();
      child.kill("SIGTERM");
      const code = await gone;
      return { code, ms: performance.now() - began };
    },
  };
}

function serving(child: ChildProcess, said: () => string): Promise<void> {
  return new Promise((resolve, reject) => {
    child.stderr?.on("data", () => {
      if (said().includes("serving at")) resolve();
    });
    child.once("close", () => reject(new Error(said().trim() || "the daemon ended at once")));
  });
}

/** Living processes that belong to the place: by working directory, or by a variable that names it. */
export function processesOf({ dir }: Place): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => pid !== process.pid && isAlive(pid) && belongs(pid, dir));
}

function belongs(pid: number, dir: string): boolean {
  try {
    if (`${readlinkSync(`/proc/${pid}/cwd`)}/`.startsWith(`${dir}/`)) return true;
    return readFileSync(`/proc/${pid}/environ`, "latin1").includes(`=${dir}`);
  } catch {
    return false;
  }
}

const stateOf = (pid: number): string => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat[stat.lastIndexOf(")") + 2] ?? "";
  } catch {
    return "";
  }
};

const isAlive = (pid: number): boolean => !["", "Z", "X"].includes(stateOf(pid));

/** Waits until no process of the place is left; gives those that stayed. */
export async function leftovers(at: Place): Promise<number[]> {
  let left = processesOf(at);
  for (let waited = 0; waited < 8_000 && left.length > 0; waited += 25) {
    await sleep(25);
    left = processesOf(at);
  }
  return left;
}

export interface Look {
  /** Resident memory in MB. */
  rss: number;
  descriptors: number;
  /** Children that ended and were not waited for. */
  zombies: number;
}

export function look(pid: number): Look {
  const status = readFileSync(`/proc/${pid}/status`, "latin1");
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").split(" ").filter(Boolean);
  return {
    rss: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024,
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    zombies: children.filter((child) => stateOf(Number(child)) === "Z").length,
  };
}

/** A generator that gives the same numbers for the same seed: a whole number below `below`. */
export function seeded(seed: number): (below: number) => number {
  let state = seed >>> 0 || 1;
  return (below) => {
    // xorshift32
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state % below;
  };
}
