/** One toolsrv process. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "#core";
import { type Client, clientOver, namespaceDir } from "#core/client";
import { toolEnv } from "./env.ts";
import { adoptOrphans } from "./reap.ts";
import { cookieOf, cookieVariable, sweep } from "./sweep.ts";
import { watched } from "./watchdog.ts";

export interface Child {
  readonly client: Client;
  readonly pid: number;
  /** Resolves when the process is gone and so is all that it had started. */
  readonly gone: Promise<void>;
  /** Ends it, and all that it started. */
  close(): Promise<void>;
}

export interface ChildOptions {
  /** The program: a bundled plugins/toolsrv/server/entry.ts. */
  entry: string;
  toolDirs: string[];
  /** Milliseconds until it must answer. */
  startLimit: number;
  /** Words before its command: a program that confines it from outside. */
  around?: readonly string[];
}

/** Tool servers of this process that have not ended. */
const alive = new Set<number>();

/** Rejects with one sentence when it does not come up. */
export async function startChild(options: ChildOptions): Promise<Child> {
  await adoptOrphans();
  const cookie = cookieOf(process.pid);
  // What names the folder of sockets (DISPLAY among it) does not reach tools, the folder itself does.
  const env: Record<string, string> = { ...toolEnv(process.env), NAMESPACE: namespaceDir(process.env) };
  const [program = "", ...words] = [...(options.around ?? []), process.execPath, options.entry];
  const child = spawn(program, words, {
    cwd: "/",
    detached: true,
    env: { ...env, OLLIE_TOOLS_PATH: options.toolDirs.join(":"), [cookieVariable]: cookie },
    stdio: ["ignore", "ignore", "pipe", "pipe"],
  });
  const { pid } = child;
  const lastWords = keepLast(child);
  const exited = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  if (pid === undefined) {
    const [error] = await once(child, "error");
    throw new Error(`toolsrv did not start: ${messageOf(error)}`);
  }
  alive.add(pid);
  const unwatch = watched();
  const gone = exited.then(async () => {
    alive.delete(pid);
    await sweep({ cookie, adoptedBut: alive });
    unwatch();
  });
  const connection = child.stdio[3] as Duplex;
  connection.on("error", () => {});
  try {
    const client = await within(options.startLimit, exited, clientOver(connection, { uname: "olliesrv" }));
    const close = async () => {
      connection.destroy();
      const late = setTimeout(() => child.kill("SIGKILL"), 2000);
      await gone;
      clearTimeout(late);
    };
    return { client, pid, gone, close };
  } catch (error) {
    // The broken connection is often seen before what it said on stderr.
    const told = new Promise<void>((resolve) => child.once("close", () => resolve()));
    child.kill("SIGKILL");
    connection.destroy();
    await Promise.race([told, sleep(500)]);
    const detail = lastWords().trim().split("\n").at(-1) || (error as Error).message;
    throw new Error(`toolsrv did not start: ${detail}`);
  }
}

async function within<T>(ms: number, exited: Promise<void>, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it did not answer within ${ms / 1000} s`)), ms);
  });
  const died = exited.then(() => Promise.reject(new Error("it ended at once")));
  work.catch(() => {});
  try {
    return await Promise.race([work, late, died]);
  } finally {
    clearTimeout(timer);
    died.catch(() => {});
    late.catch(() => {});
  }
}

/** The end of what it wrote to stderr, for messages. */
function keepLast(child: ChildProcess): () => string {
  let kept = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    kept = (kept + text).slice(-4000);
  });
  return () => kept;
}
