/** A spawner thread as toolsrv's main thread sees it: something that starts programs, at once and confined. */
import { once } from "node:events";
import { MessageChannel, receiveMessageOnPort, Worker } from "node:worker_threads";
import type { Rules } from "#plugins/sandbox";
import type { Start } from "./start.ts";
import { type Answer, counted, type StartRequest, type ThreadData, type Told } from "./thread.ts";

export interface Confined {
  /** The programs are this process's children, whichever thread has started them. */
  start: Start;
  /** Ends the thread; what it started goes on. */
  close(): Promise<void>;
}

/**
 * `program`: the file that runs `spawnerThread` where it is not the main thread. `patience`: milliseconds that a start may
 * take; a program may lie on a file system that does not answer. Rejects with one sentence.
 */
export async function confinedSpawner(program: URL, rules: Rules, patience = 30_000): Promise<Confined> {
  const shared = new SharedArrayBuffer(8);
  const { port1: port, port2 } = new MessageChannel();
  const data: ThreadData = { kind: "ollie-spawner", rules, port: port2, counts: shared };
  const worker = new Worker(program, {
    workerData: data,
    transferList: [port2],
    env: {},
    execArgv: [],
    trackUnmanagedFds: false,
  });
  const gone = new Promise<never>((_, reject) => {
    worker.once("error", reject);
    worker.once("exit", (code) => reject(new Error(`it ended at once (status ${code})`)));
  });
  gone.catch(() => {});
  const [told] = (await Promise.race([once(worker, "message"), gone])) as [Told];
  if ("fault" in told) {
    await worker.terminate();
    throw new Error(told.fault);
  }
  worker.unref();
  const counts = new Int32Array(shared);
  let asked = 0;
  let closed = false;
  worker.once("exit", () => {
    closed = true;
  });
  const tooLate = (answer: Answer) => {
    if ("pid" in answer) endGroup(answer.pid);
  };
  const received = () => receiveMessageOnPort(port)?.message as Answer | undefined;
  // Whoever asks takes its answer from the port itself: what comes this way was given up.
  port.on("message", tooLate);
  port.unref();
  /** Waits for the answer as it would wait for a fork. */
  const ask = (request: StartRequest): Answer => {
    if (closed) throw new Error("the sandbox's thread has ended");
    if (Atomics.load(counts, counted.answered) !== asked)
      throw new Error("the sandbox's thread still waits for the start of another program");
    const late = received();
    if (late) tooLate(late);
    port.postMessage(request);
    Atomics.add(counts, counted.asked, 1);
    Atomics.notify(counts, counted.asked);
    Atomics.wait(counts, counted.answered, asked++, patience);
    const answer = received();
    if (!answer) throw new Error(`it did not start within ${patience / 1000} s and was given up`);
    return answer;
  };
  return {
    start(file, args, where) {
      const answer = ask({ file, args, where });
      if ("pid" in answer) return answer.pid;
      throw Object.assign(new Error(answer.message), { code: answer.code });
    },
    async close() {
      closed = true;
      port.close();
      await worker.terminate();
    },
  };
}

/** What was told that it does not run must not. */
function endGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // it has ended
  }
}
