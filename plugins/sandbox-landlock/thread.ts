/**
 * The body of a spawner thread: it confines itself, then starts programs, which inherit what it is confined to. The main
 * thread of toolsrv stays free; it waits for each answer, as it would for its own fork.
 */
import { type ChildProcess, spawn } from "node:child_process";
import type { MessagePort } from "node:worker_threads";
import type { Rules } from "#plugins/sandbox";
import { confine } from "./confine.ts";
import { loadNative } from "./native.ts";

export interface ThreadData {
  kind: "ollie-spawner";
  rules: Rules;
  /** Requests come and answers go here. */
  port: MessagePort;
  /** One Int32, counted up behind each answer. */
  answered: SharedArrayBuffer;
}

export interface SpawnRequest {
  id: number;
  file: string;
  args: string[];
  cwd: string;
  env: Record<string, string>;
  /** Descriptors of the process, which its 0, 1, 2, … become. */
  stdio: number[];
}

export interface Fault {
  message: string;
  code: string | undefined;
}

/** In answer to each request, in order. */
export type Answer = { pid: number } | { failed: Fault } | { thrown: Fault };

/** To the parent, unasked. */
export type Told = { ready: true } | { fault: string } | { id: number; code: number | null; signal: string | null };

/** Tells `ready`, or why it can not be. */
export async function spawnerThread(data: ThreadData, tell: (told: Told) => void): Promise<void> {
  try {
    const native = await loadNative();
    confine(native, data.rules, [process.pid, native.threadId()]);
  } catch (error) {
    tell({ fault: (error as Error).message });
    // The parent ends it: where a thread ends at once, what it told last is lost now and then.
    return data.port.ref();
  }
  const answered = new Int32Array(data.answered);
  data.port.on("message", (request: SpawnRequest) => {
    start(request, tell, (answer) => {
      data.port.postMessage(answer);
      Atomics.add(answered, 0, 1);
      Atomics.notify(answered, 0);
    });
  });
  tell({ ready: true });
}

const faultOf = (error: NodeJS.ErrnoException): Fault => ({ message: error.message, code: error.code });

function start(request: SpawnRequest, tell: (told: Told) => void, answer: (answer: Answer) => void): void {
  const { id, file, args, cwd, env, stdio } = request;
  let child: ChildProcess;
  try {
    child = spawn(file, args, { cwd, env, stdio, detached: true });
  } catch (error) {
    return answer({ thrown: faultOf(error as NodeJS.ErrnoException) });
  }
  const { pid } = child;
  if (pid === undefined) {
    child.once("error", (error) => answer({ failed: faultOf(error) }));
    return;
  }
  child.on("error", () => {});
  child.once("exit", (code, signal) => tell({ id, code, signal }));
  answer({ pid });
}
