/**
 * The body of a spawner thread: it confines itself, then starts programs, which inherit what it is confined to. The main
 * thread of toolsrv waits for each answer, and for the programs.
 */
import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import type { Rules } from "#plugins/sandbox";
import { confine } from "./confine.ts";
import { loadNative } from "./native.ts";
import { type Start, starter, type Where } from "./start.ts";

export interface ThreadData {
  kind: "ollie-spawner";
  rules: Rules;
  /** Requests come and answers go here. */
  port: MessagePort;
  /** Two Int32, by `counted`. */
  counts: SharedArrayBuffer;
}

/** What stands in `counts`: how many requests, and how many answers, the port has been given. */
export const counted = { asked: 0, answered: 1 };

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
  const counts = new Int32Array(data.counts);
  tell({ ready: true });
  // It does nothing else, and what waits like this is awake sooner than an event loop.
  for (let done = 0; ; done++) {
    Atomics.wait(counts, counted.asked, done);
    const request = receiveMessageOnPort(data.port)?.message as StartRequest;
    data.port.postMessage(answer(start, request));
    Atomics.add(counts, counted.answered, 1);
    Atomics.notify(counts, counted.answered);
  }
}

function answer(start: Start, { file, args, where }: StartRequest): Answer {
  try {
    return { pid: start(file, args, where) };
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    return { message, code };
  }
}
