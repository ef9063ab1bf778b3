/** A spawner thread as toolsrv's main thread sees it: something that starts programs, at once and confined. */
import { once } from "node:events";
import { MessageChannel, receiveMessageOnPort, Worker } from "node:worker_threads";
import type { Rules } from "#plugins/sandbox";
import type { Start } from "./start.ts";
import type { Answer, StartRequest, ThreadData, Told } from "./thread.ts";

export interface Confined {
  /** The programs are this process's children, whichever thread has started them. */
  start: Start;
  /** Ends the thread; what it started goes on. */
  close(): Promise<void>;
}

/** Milliseconds that a start may take before the thread is given up. */
const patience = 30_000;

/** `program`: the file that runs `spawnerThread` where it is not the main thread. Rejects with one sentence. */
export async function confinedSpawner(program: URL, rules: Rules): Promise<Confined> {
  const answered = new SharedArrayBuffer(4);
  const { port1: port, port2 } = new MessageChannel();
  const data: ThreadData = { kind: "ollie-spawner", rules, port: port2, answered };
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
  port.unref();
  const count = new Int32Array(answered);
  return {
    start(file, args, where) {
      const answer = ask(port, count, { file, args, where });
      if ("pid" in answer) return answer.pid;
      throw Object.assign(new Error(answer.message), { code: answer.code });
    },
    async close() {
      port.close();
      await worker.terminate();
    },
  };
}

/** Waits for the answer as it would wait for a fork. */
function ask(port: MessageChannel["port1"], answered: Int32Array<SharedArrayBuffer>, request: StartRequest): Answer {
  const before = Atomics.load(answered, 0);
  port.postMessage(request);
  Atomics.wait(answered, 0, before, patience);
  const answer = receiveMessageOnPort(port)?.message as Answer | undefined;
  if (!answer) throw new Error("the sandbox's thread does not answer");
  return answer;
}
