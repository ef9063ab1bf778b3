/**
 * The body of a spawner thread: it confines itself, then starts programs, which inherit what it is confined to. The main
 * thread of toolsrv waits for each answer, and for the programs.
 */
import type { MessagePort } from "node:worker_threads";
import type { Rules } from "#plugins/sandbox";
import { confine } from "./confine.ts";
import { loadNative } from "./native.ts";
import { type Start, starter, type Where } from "./start.ts";

export interface ThreadData {
  kind: "ollie-spawner";
  rules: Rules;
  /** Requests come and answers go here. */
  port: MessagePort;
  /** One Int32, counted up behind each answer. */
  answered: SharedArrayBuffer;
}

export interface StartRequest {
  file: string;
  args: readonly string[];
  /** Descriptors are the process's, which all its threads share. */
  where: Where;
}

/** In answer to each request, in order. */
export type Answer = { pid: number } | { message: string; code: string | undefined };

/** To the parent, once. */
export type Told = { ready: true } | { fault: string };

/** Tells `ready`, or why it can not be. */
export async function spawnerThread(data: ThreadData, tell: (told: Told) => void): Promise<void> {
  let start: Start;
  try {
    // All that it needs is loaded before: afterwards it may be out of reach.
    start = starter((await import("koffi")).default);
    const native = await loadNative();
    confine(native, data.rules, [process.pid, native.threadId()]);
  } catch (error) {
    tell({ fault: (error as Error).message });
    // The parent ends it: where a thread ends at once, what it told last is lost now and then.
    return data.port.ref();
  }
  const answered = new Int32Array(data.answered);
  data.port.on("message", (request: StartRequest) => {
    data.port.postMessage(answer(start, request));
    Atomics.add(answered, 0, 1);
    Atomics.notify(answered, 0);
  });
  tell({ ready: true });
}

function answer(start: Start, { file, args, where }: StartRequest): Answer {
  try {
    return { pid: start(file, args, where) };
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    return { message, code };
  }
}
