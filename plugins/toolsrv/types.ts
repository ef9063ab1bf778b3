/** What others may import of plugin toolsrv: how a tool is run. */
import { type Source, token } from "#core";
import type { Rules } from "#plugins/sandbox";
import type { ProcessEnd } from "./status.ts";

export interface ToolRequest {
  /** UUIDs. */
  session: string;
  agent: string;
  /** Names, for the tool's environment. */
  sessionName: string;
  agentName: string;
  callId: string;
  tool: string;
  args: Record<string, unknown>;
  cwd: string;
  /** The session's variables, on top of the whitelisted environment. */
  env: Record<string, string>;
  /** Milliseconds; 0: none. */
  timeout: number;
  /** The result comes at once and names the process; what it writes, and its end, are `news`. It has no time limit. */
  background?: boolean;
  /** Sandbox profiles, each no wider than the one before; the last counts. Empty text, or none: the usual one, or what comes before. */
  profiles?: readonly string[] | undefined;
  /** A narrower profile for this call alone. */
  sandbox?: string | undefined;
}

/** A program in the background, as the daemon keeps it: it can be read after its tool server has ended. */
export interface ToolProcess {
  /** A number, unique in its session. */
  readonly id: string;
  /** UUIDs. */
  readonly session: string;
  readonly agent: string;
  readonly tool: string;
  /** The tool and the beginning of what it was asked to do, one line. */
  readonly title: string;
  readonly pid: number;
  /** Undefined: it runs. */
  readonly end: ProcessEnd | undefined;
  /** Key=value lines. */
  status(): string;
  /** Its output from the first byte that is kept, and what comes. */
  out(): Source;
  /** To its process group. */
  term(): Promise<void>;
  /** To all that belongs to it. */
  kill(): Promise<void>;
  /** Takes one that has ended out of the list. Throws NineError while it runs. */
  dismiss(): void;
}

/** `gone`: it is no longer in the list. */
export type ProcessChange = "start" | "exit" | "gone";

/** What is written to toolsrv's `call`, `proc/new` and `proc/new.bg`. */
export interface CallBody extends ToolRequest {
  /** Unique in this toolsrv; names the call in its ctl. */
  id: string;
  /** Folders for temporary files, both 0700: the session's, and the agent's below it. */
  sessionTmp: string;
  agentTmp: string;
  /** What its processes are confined to; undefined: nothing. */
  rules?: Rules | undefined;
  /** Words before its command: a program that confines it. */
  wrap?: readonly string[] | undefined;
  /** Variables that lead its processes to the agent's own socket; they win over all others. */
  socket?: Readonly<Record<string, string>> | undefined;
}

/** What is read from toolsrv's `call`, one JSON object a line: output as it comes, at the end one `end`. */
export type CallRecord = { out: string } | { end: ToolResult };

export type ToolStatus =
  | "ok"
  | "failed" // exit status other than 0, or killed by a signal
  | "timeout"
  | "cancelled" // started, then stopped; content holds the output so far
  | "refused" // never started: unknown tool, bad arguments, missing directory
  | "lost"; // toolsrv went away in the middle

export interface ToolResult {
  status: ToolStatus;
  /** For the model: never blank. */
  content: string;
  exitCode?: number;
  signal?: string;
}

export interface ToolRunner {
  /** Never throws: failures are results. `onOutput` gets text as it comes, whole characters only. */
  call(request: ToolRequest, options: { signal: AbortSignal; onOutput?: (text: string) => void }): Promise<ToolResult>;
  /** Starts what an agent's first call would have to wait for. Costs little where it is already there. */
  warm(place: Pick<ToolRequest, "session" | "agent" | "cwd" | "profiles">): void;
  /** Ends all that runs for a session, and removes its temporary files; with `agent`, for that agent alone. UUIDs. */
  end(session: string, agent?: string): Promise<void>;
  /** Key=value lines for the session's `sandbox` file. */
  sandbox(session: string): string | Promise<string>;
  /** Background processes of an agent that run, and those that ended of late. UUIDs. */
  processes(session: string, agent: string): ToolProcess[];
  /**
   * What the model has not been told of them, ready for it: output since the last call of this, and ends. Whoever takes it
   * must deliver it: it is given once.
   */
  news(session: string, agent: string): string[];
  /** Calls `fn` at each change. Returns its undo. */
  onProcess(fn: (process: ToolProcess, change: ProcessChange) => void): () => void;
}

export const ToolRunner = token<ToolRunner>("toolrunner");

export { type Capture, capture } from "./capture.ts";
export { sessionEnv, toolEnv, unattended } from "./env.ts";
export { knownLibc, type Libc, loadLibc, lostWithout, type Native } from "./libc.ts";
export { interruptNote } from "./news.ts";
export { type OutputLog, outputLog } from "./output-log.ts";
export { adoptOrphans, reapOrphans } from "./reap.ts";
export { reduce } from "./reduce.ts";
export { endWords, type ProcessEnd, type ProcessState, parseEnd, printStatus } from "./status.ts";
export {
  commandOf,
  cookieVariable,
  identify,
  isZombie,
  markTools,
  members,
  signal,
  startTime,
  sweep,
} from "./sweep.ts";
