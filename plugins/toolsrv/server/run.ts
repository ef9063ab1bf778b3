/**
 * Runs one program to its end: no terminal, stdin ends at once, stdout and stderr come in order through one pipe. The call
 * is over when the program exits, never when the pipe ends: a child in the background may hold it open.
 */
import { StringDecoder } from "node:string_decoder";
import { capture, commandOf, identify, members, signal as send, sweep } from "#plugins/toolsrv";
import type { Program, Spawner, Started } from "./spawn.ts";

export interface Job extends Program {
  /** Milliseconds; 0: none. */
  timeout: number;
  /** Value of OLLIE_PROC, for this job alone. */
  cookie: string;
}

export interface Ended {
  code: number | null;
  signal: string | null;
  /** Why it was ended from outside. */
  cause: "timeout" | "cancelled" | undefined;
  /** It could not be started. */
  error?: string;
  head: string;
  tail: string;
  omitted: number;
  /** Processes that it left running. */
  left: { pid: number; command: string }[];
  /** The output is still held open by somebody. */
  held: boolean;
}

/**
 * How long, in milliseconds, output is awaited behind the exit; what closes its output as the last thing it does has until it is
 * told as left; TERM has until KILL; KILL has to work.
 */
export const waits = { drain: 300, ending: 20, term: 1000, settle: 100, kill: 2000 };

/** Bytes of output that are passed on while the job runs. What comes behind is in the result. */
export const liveLimit = 256 << 10;

export interface RunOptions {
  signal: AbortSignal;
  onOutput?: (text: string) => void;
}

/** Never rejects. When `signal` aborts, the job's processes are ended and what it wrote so far is kept. */
export function run(job: Job, spawner: Spawner, options: RunOptions): Promise<Ended> {
  const kept = capture();
  const onChunk = live(options.onOutput ?? (() => {}));
  return new Promise((resolve) => {
    let started: Started;
    try {
      started = spawner.start(job);
    } catch (error) {
      return resolve(failed((error as Error).message));
    }
    const { child, output } = started;
    const { pid } = child;
    if (pid === undefined) return child.once("error", (error) => resolve(failed(error.message)));
    const timers = new Set<NodeJS.Timeout>();
    const after = (ms: number, then: () => void) => timers.add(setTimeout(then, ms));
    let tree = new Map<number, string>();
    let exit: { code: number | null; signal: string | null } | undefined;
    let cause: Ended["cause"];
    let open = true;
    let done = false;

    const finish = () => {
      if (done) return;
      done = true;
      for (const timer of timers) clearTimeout(timer);
      options.signal.removeEventListener("abort", cancel);
      const left = open || send(-pid, 0) ? members({ cookie: job.cookie }) : [];
      release(started);
      resolve({
        code: exit?.code ?? null,
        signal: exit?.signal ?? null,
        cause,
        ...kept.result(),
        left: left.map((each) => ({ pid: each, command: commandOf(each) })),
        held: open,
      });
    };
    /** The output is closed. */
    const leave = () => (send(-pid, 0) ? after(waits.ending, finish) : finish());
    const kill = async () => {
      send(-pid, "SIGKILL");
      after(waits.kill, finish);
      await sweep({ cookie: job.cookie, known: tree });
      if (exit) finish();
      else child.once("exit", () => setImmediate(finish));
    };
    const stop = (why: "timeout" | "cancelled") => {
      if (cause || exit) return;
      cause = why;
      // Before TERM takes their parents away: a process that empties its environment is known by its parent alone.
      tree = identify([pid, ...members({ cookie: job.cookie })]);
      send(-pid, "SIGTERM");
      after(waits.term, kill);
    };
    const cancel = () => stop("cancelled");

    output.on("data", (chunk: Buffer) => {
      if (done) return;
      kept.push(chunk);
      onChunk(chunk);
    });
    child.on("exit", (code, by) => {
      exit = { code, signal: by };
      if (!open && !cause) return void leave();
      after(cause ? waits.settle : waits.drain, cause ? kill : finish);
    });
    output.on("error", () => {});
    output.on("close", () => {
      open = false;
      if (exit && !cause) leave();
    });
    if (job.timeout > 0) after(job.timeout, () => stop("timeout"));
    if (options.signal.aborted) cancel();
    else options.signal.addEventListener("abort", cancel, { once: true });
  });
}

/** What is left may go on writing: read and forgotten, so that it neither blocks nor gets SIGPIPE. */
function release({ child, output }: Started): void {
  output.resume();
  child.unref();
}

function live(onOutput: (text: string) => void): (chunk: Buffer) => void {
  const decoder = new StringDecoder("utf8");
  let given = 0;
  return (chunk) => {
    if (given > liveLimit) return;
    const text = decoder.write(chunk.subarray(0, liveLimit - given));
    given += chunk.length;
    if (text !== "") onOutput(text);
    if (given > liveLimit) onOutput(`\n[live output stops here after ${liveLimit} bytes]\n`);
  };
}

const failed = (error: string): Ended => ({
  code: null,
  signal: null,
  cause: undefined,
  error,
  head: "",
  tail: "",
  omitted: 0,
  left: [],
  held: false,
});
