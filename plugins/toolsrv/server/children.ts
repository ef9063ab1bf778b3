/** Programs that were started beside Node, which waits for its own alone. */
import { EventEmitter } from "node:events";
import type { Libc } from "#plugins/toolsrv";

/** The part of a ChildProcess that is needed: `exit` is emitted likewise, with status and signal. */
export interface Launched extends EventEmitter {
  /** Undefined: it could not be started; `error` tells why. */
  readonly pid?: number | undefined;
  unref(): void;
}

export interface Children {
  /** Takes over a child that has just been started. */
  adopt(pid: number): Launched;
  /** Whether it was adopted and has not ended. */
  has(pid: number): boolean;
  close(): void;
}

/** Looks whenever a child has died; costs nothing in between, and does not keep this process alive. */
export function children(libc: Libc): Children {
  const alive = new Map<number, Launched>();
  const look = () => {
    for (const [pid, child] of alive) {
      const end = libc.wait(pid);
      if (!end) continue;
      alive.delete(pid);
      child.emit("exit", end.code, end.signal);
    }
  };
  process.on("SIGCHLD", look);
  return {
    adopt(pid) {
      const child = Object.assign(new EventEmitter(), { pid, unref() {} });
      alive.set(pid, child);
      return child;
    },
    has: (pid) => alive.has(pid),
    close: () => void process.off("SIGCHLD", look),
  };
}
