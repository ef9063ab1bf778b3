/**
 * The one place that starts a tool's program. A shell that was forked ahead waits for the next call, because the fork is
 * most of what a start costs; where none waits, or it can not be told what to run, a new one is started.
 */
import { closeSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import type { Launch, Launched } from "#plugins/sandbox-landlock";
import { cookieVariable, isZombie, type Libc, signal } from "#plugins/toolsrv";
import { launchHere, type Opened, open, type Plumbing, writer } from "./pipes.ts";
import { type Command, canTell, plainEnv, scriptOf, wordsOf } from "./script.ts";

export interface Program extends Command {
  /** What it reads; then end of file. */
  stdin: string;
}

/** A program that was started; `child` has no pid where that failed, and emits `error` then. */
export interface Started {
  readonly child: Launched;
  /** stdout and stderr in the order in which they were written. */
  readonly output: Readable;
}

export interface Spawner {
  /** Starts it in a session of its own, without a terminal. Throws where there is no descriptor left. */
  start(program: Program): Started;
  /** Forks a shell ahead, unless one waits. */
  prepare(): void;
  /** Pid of the shell that waits. */
  readonly spare: number | undefined;
  /** Ends the shell that waits; nothing is forked ahead any more. */
  close(): void;
}

export interface SpawnerOptions {
  /** Without it nothing is forked ahead: a socket pair can not be opened by name. */
  libc: Libc | undefined;
  /** OLLIE_PROC of the spare, until it becomes a program. */
  cookie: string;
  /** Told each process at once, before it can have ended. */
  onStart?: (child: Launched) => void;
  /** Starts a program; needs libc. Default: from this thread. */
  launch?: Launch;
}

/** Milliseconds until the next spare is forked, which takes some itself: not before the result of the call is on its way. */
const renewal = { ended: 2, began: 50 };

/** One for each set of rules that tools run under: what it starts inherits what its thread is confined to. */
export function createSpawner({ libc, cookie, onStart = () => {}, launch = launchHere }: SpawnerOptions): Spawner {
  const plumbing = libc && { libc, launch };
  const base = { PATH: process.env.PATH ?? "/usr/bin:/bin", [cookieVariable]: cookie };
  let spare: (Opened & { script: Writable }) | undefined;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  const drop = () => {
    if (spare?.child.pid !== undefined) signal(spare.child.pid, "SIGKILL");
    for (const end of [spare?.script, spare?.stdin, spare?.output]) end?.destroy();
    spare = undefined;
  };

  const prepare = () => {
    if (!plumbing || spare || closed) return;
    let pipe: [number, number] | undefined;
    let shell: Opened;
    try {
      pipe = plumbing.libc.pipe();
      shell = open(plumbing, ["/bin/sh", "-c", ". /dev/fd/3"], { cwd: "/", env: base }, pipe[0]);
      closeSync(pipe[0]);
    } catch {
      // No descriptor is left: a call will say so where it fails for the same reason.
      for (const end of pipe ?? []) closeSync(end);
      return;
    }
    onStart(shell.child);
    const mine = { ...shell, script: writer(pipe[1]) };
    spare = mine;
    const gone = () => {
      if (spare === mine) drop();
    };
    shell.child.once("exit", gone).once("error", gone);
  };

  const renew = (ms: number) => {
    clearTimeout(timer);
    if (!closed) timer = setTimeout(prepare, ms).unref();
  };

  /** The spare, told to become `program`; undefined: there is none that can. It serves once. */
  const tell = (program: Program): Opened | undefined => {
    const pid = spare?.child.pid;
    if (!spare || pid === undefined || isZombie(pid) || !canTell(program)) return undefined;
    const shell = spare;
    spare = undefined;
    shell.script.end(scriptOf(program, Object.keys(base)));
    return shell;
  };

  const fresh = (program: Program): Opened => {
    const opened = (plumbing && direct(plumbing, program)) ?? throughShell(plumbing, program);
    onStart(opened.child);
    return opened;
  };

  return {
    start(program) {
      const shell = tell(program) ?? fresh(program);
      let lasting = 2;
      const over = () => --lasting === 0 && setImmediate(renew, renewal.ended);
      shell.child.once("exit", over);
      shell.output.once("close", over);
      renew(renewal.began);
      shell.stdin.end(program.stdin);
      return shell;
    },
    prepare,
    get spare() {
      return spare?.child.pid;
    },
    close() {
      closed = true;
      clearTimeout(timer);
      drop();
    },
  };
}

/** Undefined: it is a script that does not say who runs it. */
function direct(plumbing: Plumbing, { exec, argv, cwd, env }: Program): Opened | undefined {
  try {
    return open(plumbing, [exec, ...argv], { cwd, env: { ...env } });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOEXEC") return undefined;
    throw error;
  }
}

/** The shell joins the two outputs, so that their order is kept, and becomes the program. */
function throughShell(plumbing: Plumbing | undefined, program: Program): Opened {
  const words = ["/bin/sh", "-c", 'exec "$@" 2>&1', "sh", ...wordsOf(program)];
  return open(plumbing, words, { cwd: program.cwd, env: plainEnv(program) });
}
