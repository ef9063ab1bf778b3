/** What others may import of plugin toolsrv: how a tool is run. */
import { token } from "#core";

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
}

/** What is written to toolsrv's `call`. */
export interface CallBody extends ToolRequest {
  /** Unique in this toolsrv; names the call in its ctl. */
  id: string;
  /** Folders for temporary files, both 0700: the session's, and the agent's below it. */
  sessionTmp: string;
  agentTmp: string;
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
  /** Starts what a first call would have to wait for. Costs nothing where it is already there. */
  warm(session: string): void;
  /** Ends all that runs for a session, and removes its temporary files; with `agent`, for that agent alone. UUIDs. */
  end(session: string, agent?: string): Promise<void>;
  /** Key=value lines for the session's `sandbox` file. */
  sandbox(session: string): string;
}

export const ToolRunner = token<ToolRunner>("toolrunner");

export { type Capture, capture } from "./capture.ts";
export { isCredential, sessionEnv, toolEnv, unattended } from "./env.ts";
export { knownLibc, type Libc, loadLibc, lostWithout, type Native } from "./libc.ts";
export { reapOrphans } from "./reap.ts";
export { reduce } from "./reduce.ts";
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
