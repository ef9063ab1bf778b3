/**
 * The few calls of the C library that Node lacks, through koffi. Without koffi ollie works in a lesser form, which
 * `lostWithout` tells: docs/tools.md.
 */
import { readdirSync } from "node:fs";
import { constants } from "node:os";
import { type Start, starter } from "#plugins/sandbox-landlock";

export interface Libc {
  /** Starts a program from this thread; `wait` tells its end. */
  start: Start;
  /** A pipe, both ends close-on-exec: [read end, write end]. Node's own are socket pairs, which can not be opened by name. */
  pipe(): [number, number];
  /** This process gets SIGTERM when the thread that started it ends. */
  dieWithParent(): void;
  /** What loses its parent below this process becomes its child, and does not get away to init. */
  adoptOrphans(): void;
  /** Takes the status of a dead child that Node does not know. Undefined: it lives. All null: it is no child any more. */
  wait(pid: number): { code: number | null; signal: NodeJS.Signals | null } | undefined;
  /** What this process inherited, standard streams apart, goes to no child. Node does so for low numbers only. */
  keepDescriptors(): void;
  /** No other process may trace this one or read its memory: tools share a domain with a thread of it. */
  hideMemory(): void;
  /** Sets the soft limit of open files, at most the hard one. */
  limitOpenFiles(soft: number): void;
}

export type Native = { readonly libc: Libc; readonly missing?: undefined } | { libc?: undefined; missing: string };

/** What is not there without koffi, for people. */
export const lostWithout =
  "pipes are socket pairs, each start is a fork of the tool server, and what detached itself and emptied its environment is not found when the tool server is killed; who connects to the daemon is not checked";

let loading: Promise<Native> | undefined;
let found: Native | undefined;

/** Loads koffi once, about 15 ms. `OLLIE_KOFFI=off` hides it. Never rejects. */
export function loadLibc(env: NodeJS.ProcessEnv = process.env): Promise<Native> {
  loading ??= load(env).then((native) => {
    found = native;
    return native;
  });
  return loading;
}

/** What `loadLibc` has found; undefined: not asked yet. */
export const knownLibc = (): Native | undefined => found;

async function load(env: NodeJS.ProcessEnv): Promise<Native> {
  if (env.OLLIE_KOFFI === "off") return { missing: "OLLIE_KOFFI=off" };
  if (process.platform !== "linux") return { missing: `${process.platform} is not supported` };
  try {
    const { default: koffi } = await import("koffi");
    return { libc: bind(koffi) };
  } catch (error) {
    return { missing: `koffi can not be loaded: ${String(error).split("\n")[0]}` };
  }
}

// linux/prctl.h, asm-generic/resource.h, asm-generic/fcntl.h, sys/wait.h: the same on x64 and arm64.
const PR_SET_PDEATHSIG = 1;
const PR_SET_DUMPABLE = 4;
const PR_SET_CHILD_SUBREAPER = 36;
const RLIMIT_NOFILE = 7;
const O_CLOEXEC = 0o2000000;
const F_SETFD = 2;
const FD_CLOEXEC = 1;
const WNOHANG = 1;
const SIGTERM = 15;

function bind(koffi: typeof import("koffi")["default"]): Libc {
  const lib = koffi.load(null);
  const pipe2 = lib.func("int pipe2(_Out_ int *fds, int flags)");
  const prctl = lib.func("int prctl(int option, ulong a, ulong b, ulong c, ulong d)");
  const fcntl = lib.func("int fcntl(int fd, int command, int value)");
  const waitpid = lib.func("int waitpid(int pid, _Out_ int *status, int options)");
  const prlimit = lib.func("int prlimit(int pid, int resource, const void *wanted, void *old)");
  const fail = (what: string): never => {
    throw new Error(`${what}: errno ${koffi.errno()}`);
  };
  const must = (what: string, result: number) => result === 0 || fail(what);
  return {
    start: starter(koffi),
    pipe() {
      const ends: [number, number] = [-1, -1];
      must("pipe2", pipe2(ends, O_CLOEXEC));
      return ends;
    },
    dieWithParent: () => void must("prctl", prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0)),
    adoptOrphans: () => void must("prctl", prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)),
    wait(pid) {
      const status = [0];
      const found = waitpid(pid, status, WNOHANG);
      if (found === 0) return undefined;
      return found === pid ? endOf(status[0] as number) : { code: null, signal: null };
    },
    keepDescriptors() {
      // One of them was the folder itself, and is closed by now: its failure says nothing.
      for (const fd of readdirSync("/proc/self/fd").map(Number)) if (fd > 2) fcntl(fd, F_SETFD, FD_CLOEXEC);
    },
    hideMemory: () => void must("prctl", prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)),
    limitOpenFiles(soft) {
      const limit = Buffer.alloc(16);
      must("prlimit", prlimit(0, RLIMIT_NOFILE, null, limit));
      const hard = limit.readBigUInt64LE(8);
      limit.writeBigUInt64LE(BigInt(soft) < hard ? BigInt(soft) : hard, 0);
      must("prlimit", prlimit(0, RLIMIT_NOFILE, limit, null));
    },
  };
}

/** sys/wait.h: the signal in the low bits, else the exit status above them. */
function endOf(status: number): { code: number | null; signal: NodeJS.Signals | null } {
  const number = status & 0x7f;
  if (number === 0) return { code: (status >> 8) & 0xff, signal: null };
  const [name] = Object.entries(constants.signals).find(([, value]) => value === number) ?? [];
  return { code: null, signal: (name ?? `SIG${number}`) as NodeJS.Signals };
}
