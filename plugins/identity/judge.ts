/** Who may connect where. A rule looks at the process that connected, and says why it may not. */
import { closeSync, readFileSync } from "node:fs";
import { lineOf, processOf } from "./ancestry.ts";
import type { PeerCalls } from "./native.ts";

export interface Caller {
  /** The process and its ancestors, itself first. */
  readonly line: readonly number[];
  readonly noNewPrivs: boolean;
}

/** Undefined: it may. */
export type Rule = (caller: Caller) => string | undefined;

export const sandboxed = "permission denied: this process is sandboxed; use $NAMESPACE";

const confined = processOf("self")?.noNewPrivs ?? false;

/** The main socket: people's processes, which are neither confined nor started by this one. */
export const userRule =
  (acceptNoNewPrivs: boolean): Rule =>
  ({ line, noNewPrivs }) =>
    // Where we are confined ourselves, as in a container, everybody may be.
    (noNewPrivs && !confined && !acceptNoNewPrivs) || line.indexOf(process.pid) > 0 ? sandboxed : undefined;

/** An agent's socket: what runs below the tool servers of its session. */
export const agentRule =
  (below: () => Iterable<number>): Rule =>
  ({ line }) =>
    [...below()].some((pid) => line.indexOf(pid) > 0)
      ? undefined
      : "permission denied: this socket is an agent's, for tools of its session alone";

/** A command's socket: the command and what it started. */
export const commandRule =
  (commands: ReadonlySet<number>): Rule =>
  ({ line, noNewPrivs }) => {
    if (noNewPrivs && !confined) return sandboxed;
    return line.some((pid) => commands.has(pid))
      ? undefined
      : "permission denied: this socket is a command's, for what it has started alone";
  };

/** The process at the other end of a socket; a text where none can be told, which refuses it. */
export function callerOf(fd: number, calls: PeerCalls): Caller | string {
  const refused = (why: string) => `permission denied: ${why}`;
  const peer = calls.credentials(fd);
  const pidfd = calls.pidfd(fd);
  try {
    if (!peer) return refused("the process that connected can not be told");
    // Root could become us anyway, and has to mount.
    if (peer.uid !== process.getuid?.() && peer.uid !== 0)
      return refused("the process that connected is another user's");
    if (peer.pid <= 0)
      return refused("the process that connected is in a pid namespace that can not be seen from here");
    const line = lineOf(peer.pid);
    const found = processOf(peer.pid);
    // Looked at last: what was read above is of that very process only if it still is.
    if (!line || !found || found.zombie || (pidfd !== undefined && pidOf(pidfd) !== peer.pid))
      return refused("the process that connected has ended");
    return { line, noNewPrivs: found.noNewPrivs };
  } finally {
    if (pidfd !== undefined) closeSync(pidfd);
  }
}

/** -1: the process is gone. */
const pidOf = (pidfd: number): number =>
  Number(/^Pid:\t(-?\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${pidfd}`, "latin1"))?.[1] ?? -1);
