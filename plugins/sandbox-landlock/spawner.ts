/** A spawner thread as toolsrv's main thread sees it: something that starts programs, at once and confined. */
import { EventEmitter, once } from "node:events";
import { MessageChannel, receiveMessageOnPort, Worker } from "node:worker_threads";
import type { Rules } from "#plugins/sandbox";
import type { Answer, Fault, SpawnRequest, ThreadData, Told } from "./thread.ts";

/** The part of a ChildProcess that is needed: `exit` and `error` are emitted likewise. */
export interface Launched extends EventEmitter {
  /** Undefined: it could not be started; `error` tells why. */
  readonly pid?: number | undefined;
  unref(): void;
}

export interface Where {
  cwd: string;
  env: Record<string, string>;
  /** Descriptors, which its 0, 1, 2, … become. The caller closes them. */
  stdio: number[];
}

/** Starts a program in a session of its own. Throws some of the errors of execve(2), as Node's spawn does. */
export type Launch = (file: string, args: string[], where: Where) => Launched;

export interface Confined {
  launch: Launch;
  /** Programs that have not ended. */
  readonly running: number;
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
  const children = new Map<number, EventEmitter>();
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
  worker.on("message", (news: Told) => {
    if (!("id" in news)) return;
    const child = children.get(news.id);
    children.delete(news.id);
    child?.emit("exit", news.code, news.signal);
  });
  worker.unref();
  port.unref();
  return {
    launch: launcher(
      (request) => ask(port, new Int32Array(answered), request),
      (id, child) => children.set(id, child),
    ),
    get running() {
      return children.size;
    },
    async close() {
      port.close();
      await worker.terminate();
    },
  };
}

type Port = MessageChannel["port1"];

/** Waits for the answer as it would wait for a fork. */
function ask(port: Port, answered: Int32Array<SharedArrayBuffer>, request: SpawnRequest): Answer {
  const before = Atomics.load(answered, 0);
  port.postMessage(request);
  Atomics.wait(answered, 0, before, patience);
  const answer = receiveMessageOnPort(port)?.message as Answer | undefined;
  if (!answer) throw new Error("the sandbox's thread does not answer");
  return answer;
}

function launcher(ask: (request: SpawnRequest) => Answer, keep: (id: number, child: EventEmitter) => void): Launch {
  let count = 0;
  return (file, args, { cwd, env, stdio }) => {
    const id = ++count;
    const answer = ask({ id, file, args, cwd, env, stdio });
    if ("thrown" in answer) throw errorOf(answer.thrown);
    const child = Object.assign(new EventEmitter(), { unref() {} });
    if ("pid" in answer) keep(id, child);
    else process.nextTick(() => child.emit("error", errorOf(answer.failed)));
    return Object.assign(child, { pid: "pid" in answer ? answer.pid : undefined });
  };
}

const errorOf = ({ message, code }: Fault): Error => Object.assign(new Error(message), { code });
