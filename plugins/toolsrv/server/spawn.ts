/** The one place that starts a tool's program. */
import { spawn } from "node:child_process";
import { closeSync, constants, existsSync, openSync, readSync, writeSync } from "node:fs";
import { Socket } from "node:net";
import type { Readable } from "node:stream";
import type { Start } from "#plugins/sandbox-landlock";
import type { Libc } from "#plugins/toolsrv";
import type { Children, Launched } from "./children.ts";

export interface Program {
  exec: string;
  /** Its argv[0], where koffi is there. Default: `exec`. */
  name?: string;
  argv: readonly string[];
  env: Readonly<Record<string, string>>;
  cwd: string;
  /** What it reads; then end of file. Undefined: it has /dev/null. */
  stdin?: string;
}

/** A program that was started; `child` has no pid where that failed, and emits `error` then. */
export interface Started {
  readonly child: Launched;
  /** stdout and stderr in the order in which they were written. */
  readonly output: Readable;
}

export interface Spawner {
  /** Starts it in a session of its own, without a terminal. Throws what it could not be started for. */
  start(program: Program): Started;
}

/** What is there with koffi. */
export interface Means {
  libc: Libc;
  children: Children;
}

/** Without `means` Node's own spawn and its socket pairs serve. `start`: default from this thread, with its rights. */
export const createSpawner = (means: Means | undefined, start = means?.libc.start): Spawner => ({
  start: (program) => (means && start ? throughPipes(means, start, program) : throughSocketPairs(program)),
});

/** POSIX PIPE_BUF on Linux: so much an empty pipe takes at once, however small it is. */
const atOnce = 4096;

function throughPipes({ libc, children }: Means, start: Start, program: Program): Started {
  const fds: number[] = [];
  const pipe = (): [number, number] => {
    const ends = libc.pipe();
    fds.push(...ends);
    return ends;
  };
  const close = (fd: number) => {
    closeSync(fd);
    fds.splice(fds.indexOf(fd), 1);
  };
  try {
    const { stdin: text } = program;
    const [input, feed] = text === undefined ? [openSync("/dev/null", "r")] : pipe();
    if (feed === undefined) fds.push(input);
    const output = pipe();
    const pid = begin(start, program, [input, output[1], output[1]]);
    const child = children.adopt(pid);
    if (feed !== undefined && text !== undefined) {
      const bytes = Buffer.from(text);
      if (bytes.length <= atOnce) {
        writeSync(feed, bytes);
        close(feed);
      } else writer(feed).end(bytes);
    }
    // Our copies of its ends: as long as one is open, the other side never sees the end.
    close(input);
    close(output[1]);
    return { child, output: new Socket({ fd: output[0], readable: true, writable: false }) };
  } catch (error) {
    for (const fd of fds) closeSync(fd);
    throw error;
  }
}

function begin(start: Start, { exec, name, argv, cwd, env }: Program, stdio: number[]): number {
  try {
    return start(exec, argv, { cwd, env, stdio, ...(name === undefined ? {} : { name }) });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const interpreter = code === "ENOENT" ? interpreterOf(exec) : undefined;
    // Else it is the folder that is gone.
    if (interpreter !== undefined && !existsSync(interpreter))
      throw new Error(`${exec} wants ${interpreter}, which is not there`);
    // A script that does not say who runs it.
    if (code !== "ENOEXEC") throw error;
    return start("/bin/sh", [exec, ...argv], { cwd, env, stdio });
  }
}

/** What the first line of a script names to run it; undefined: it is none, or can not be read. */
function interpreterOf(file: string): string | undefined {
  let fd: number;
  try {
    fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
  try {
    // Linux reads no more of it.
    const head = Buffer.alloc(256);
    return /^#![ \t]*(\S+)/.exec(head.toString("latin1", 0, readSync(fd, head)))?.[1];
  } catch {
    return undefined;
  } finally {
    closeSync(fd);
  }
}

/** Nobody need read what is written here: a pipe that breaks is no fault. */
function writer(fd: number): Socket {
  const socket = new Socket({ fd, readable: false, writable: true });
  return socket.on("error", () => {});
}

/** A shell joins the two outputs, so that their order is kept, and becomes the program. */
function throughSocketPairs(program: Program): Started {
  const words = ["-c", 'exec "$@" 2>&1', "sh", ...wordsOf(program)];
  const { cwd, stdin } = program;
  const child = spawn("/bin/sh", words, {
    cwd,
    env: plainEnv(program),
    detached: true,
    stdio: [stdin === undefined ? "ignore" : "pipe", "pipe", "ignore"],
  });
  const output = child.stdout as Socket;
  child.on("error", () => {});
  child.stdin?.on("error", () => {}).end(stdin);
  // The pair is readable from both ends: without this, a program that asks its stderr would wait for ever.
  output.end();
  return { child, output };
}

/** Names that a shell exports as they are, and gives no meaning of its own. */
const plain =
  /^(?!(?:UID|EUID|PPID|GROUPS|SHELLOPTS|BASH.*|OPT.*|LINENO|FUNCNAME|IFS|PS\d|ENV|CDPATH|MAIL.*)$)[A-Za-z_]\w*$/;

/** The variables that a shell can be started with and passes on. */
const plainEnv = ({ env }: Program): Record<string, string> =>
  Object.fromEntries(Object.entries(env).filter(([name]) => plain.test(name)));

/** The words to start it: variables that a shell would drop or take for itself are set by env(1). */
function wordsOf({ exec, argv, env }: Program): string[] {
  const others = Object.entries(env).filter(([name]) => !plain.test(name));
  const set = others.map(([name, value]) => `${name}=${value}`);
  return [...(set.length > 0 ? ["/usr/bin/env", "--", ...set] : []), exec, ...argv];
}
