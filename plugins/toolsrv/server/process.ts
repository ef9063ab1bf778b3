/** A program in the background: its output can be read while it runs and afterwards. */
import { commandOf, members, type OutputLog, outputLog, type ProcessEnd, signal, sweep } from "#plugins/toolsrv";
import { type Job, waits } from "./run.ts";
import type { Spawner } from "./spawn.ts";

export interface BackgroundProcess {
  readonly pid: number;
  readonly output: OutputLog;
  /** Undefined: it runs. */
  readonly end: ProcessEnd | undefined;
  /** TERM to its group. */
  term(): void;
  /** KILL to all that belongs to it. Resolves when that is gone. */
  kill(): Promise<void>;
}

/** Resolves when it runs; with a time limit it is ended like a call. Rejects where it can not be started. */
export async function startProcess(job: Job, spawner: Spawner): Promise<BackgroundProcess> {
  const { child, output } = spawner.start(job);
  const { pid } = child;
  if (pid === undefined) throw await new Promise<Error>((resolve) => child.once("error", resolve));
  const log = outputLog();
  const timers = new Set<NodeJS.Timeout>();
  const after = (ms: number, then: () => void) => timers.add(setTimeout(then, ms));
  let end: ProcessEnd | undefined;
  let exit: { code: number | null; signal: string | null } | undefined;
  let timedOut = false;
  let open = true;

  const finish = () => {
    if (end || !exit) return;
    for (const timer of timers) clearTimeout(timer);
    const left =
      open || signal(-pid, 0) ? members({ cookie: job.cookie }).map((each) => `${commandOf(each)} ${each}`) : [];
    end = { ...exit, ...(timedOut ? { cause: "timeout" } : {}), left };
    log.end();
    output.resume();
  };
  const process: BackgroundProcess = {
    pid,
    output: log,
    get end() {
      return end;
    },
    term: () => void signal(-pid, "SIGTERM"),
    async kill() {
      signal(-pid, "SIGKILL");
      await sweep({ cookie: job.cookie });
    },
  };

  output.on("data", (chunk: Buffer) => log.push(chunk));
  output.on("error", () => {});
  output.on("close", () => {
    open = false;
    finish();
  });
  child.once("exit", (code, by) => {
    exit = { code, signal: by };
    if (open) after(waits.drain, finish);
    else finish();
  });
  if (job.timeout > 0)
    after(job.timeout, () => {
      timedOut = true;
      process.term();
      after(waits.term, process.kill);
    });
  return process;
}
