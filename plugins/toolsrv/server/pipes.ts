/** A program with its ends: through real pipes where koffi is there, else through Node's socket pairs. */
import { spawn } from "node:child_process";
import { closeSync } from "node:fs";
import { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import type { Launch, Launched } from "#plugins/sandbox-landlock";
import type { Libc } from "#plugins/toolsrv";

export interface Opened {
  /** Without a pid where it could not be started: then it emits `error`. */
  readonly child: Launched;
  readonly stdin: Writable;
  /** What it writes to stdout; through pipes to stderr, too. */
  readonly output: Readable;
}

interface At {
  cwd: string;
  env: Record<string, string>;
}

const reader = (fd: number): Socket => new Socket({ fd, readable: true, writable: false });

/** Nobody need read what is written here: a pipe that breaks is no fault. */
export function writer(fd: number): Socket {
  const socket = new Socket({ fd, readable: false, writable: true });
  return socket.on("error", () => {});
}

/** What pipes are made with, and what starts a program with their ends. */
export interface Plumbing {
  libc: Libc;
  launch: Launch;
}

/** From this thread, with its rights. */
export const launchHere: Launch = (file, args, where) => spawn(file, args, { ...where, detached: true });

/**
 * Starts a program in a session of its own. `third`: what its descriptor 3 is. Throws where there is no descriptor left, and
 * some of the errors of execve(2): ENOEXEC, E2BIG.
 */
export function open(plumbing: Plumbing | undefined, words: readonly string[], at: At, third?: number): Opened {
  const [file = "", ...args] = words;
  return plumbing ? withPipes(plumbing, file, args, at, third) : withSocketPairs(file, args, at);
}

function withPipes({ libc, launch }: Plumbing, file: string, args: string[], at: At, third?: number): Opened {
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
    const stdin = pipe();
    const output = pipe();
    const more = third === undefined ? [] : [third];
    const child = launch(file, args, { ...at, stdio: [stdin[0], output[1], output[1], ...more] });
    child.on("error", () => {});
    // Our copies of its ends: as long as one is open, the other side never sees the end.
    close(stdin[0]);
    close(output[1]);
    return { child, stdin: writer(stdin[1]), output: reader(output[0]) };
  } catch (error) {
    for (const fd of fds) closeSync(fd);
    throw error;
  }
}

function withSocketPairs(file: string, args: string[], at: At): Opened {
  const child = spawn(file, args, { ...at, detached: true, stdio: ["pipe", "pipe", "ignore"] });
  child.on("error", () => {});
  child.stdin.on("error", () => {});
  // The pair is readable from both ends: without this, a program that asks its stderr would wait for ever.
  (child.stdout as Socket).end();
  return { child, stdin: child.stdin, output: child.stdout };
}
