/** What others may import of plugin agent: the agent, its scope, its hooks. */
import { type Block, hook, token } from "#core";
import type { Backend, BackendErrorKind, Message, Params, ToolCall, Usage } from "#plugins/backends";
import { PerSession, type Session } from "#plugins/sessions";

/** `idle thinking connecting compacting limitretry paused` or `calling: {tool}`. */
export type AgentState = string;

/** Which field `waitChange` watches. */
export type WatchField = "state" | "usage" | "ctxsz" | "cwd";

export interface QueueItem {
  id: string;
  /** Who wrote it: a principal's name. */
  from: string;
  text: string;
  /** Turns caused by hooks carry a depth; a user's prompt has 0. */
  depth: number;
}

export interface Agent {
  /** UUIDv4, immutable. */
  readonly id: string;
  /** Unique in its session; a rename changes it. */
  readonly name: string;
  readonly session: Session;
  /** UUID of the agent that made it: it may do no more than that one. Undefined: a person did. */
  readonly creator?: string | undefined;
  readonly state: AgentState;
  readonly cwd: string;
  readonly backend: Backend;
  /** Name of its config. */
  readonly config: string;
  readonly params: Params;
  /** Names of loaded tools, in load order. */
  readonly tools: readonly string[];
  readonly plan: string;
  readonly dead: boolean;
  /** Runs `text` now, or queues it while busy. On disk when this resolves; success means that it will run. */
  submit(text: string, from: string, depth?: number): Promise<void>;
  /** Appends to the queue, whatever the state. */
  enqueue(text: string, from: string, depth?: number): Promise<void>;
  /** Reaches the model with the next tool result; unused, it becomes the next prompt. */
  inject(text: string, from: string): Promise<void>;
  /** Ends the turn and all it runs; false where none ran. The queue is held. */
  interrupt(cause: string): boolean;
  pause(): void;
  resume(): void;
  readonly queue: readonly QueueItem[];
  /** The field's value as soon as it differs from `current`, which may be at once; undefined when `signal` aborts or the agent dies. */
  waitChange(field: WatchField, current: string, signal: AbortSignal): Promise<string | undefined>;
  close(): Promise<void>;
}

/** `/session/{name}/agent/{aname}` */
export const PerAgent = PerSession.instances<Agent>()("agent/{aname}", "agent");

export interface Agents {
  list(session: Session): Agent[];
  /** By name or UUID. */
  get(session: Session, nameOrId: string): Agent | undefined;
  create(
    session: Session,
    values: { cwd: string; backend?: string; model?: string; agent?: string; name?: string },
  ): Promise<Agent>;
  kill(agent: Agent): Promise<void>;
}

export const Agents = token<Agents>("agents");

/** Makes room in an agent's context. Without a provider, `compact` says so and an overflow ends the turn. */
export interface Compactor {
  /**
   * One line about what was done. Throws NineError where it did not help. Runs between requests only. `signal` aborts
   * when it is stopped: then nothing may change any more.
   */
  compact(at: At, trigger: "manual" | "auto" | "overflow", signal: AbortSignal): Promise<string>;
}

export const Compactor = token<Compactor>("compactor");

/** Where something happens: handed to `state(PerSession, …)` and `state(PerAgent, …)` accessors of plugins. */
export interface At {
  readonly session: Session;
  readonly agent: Agent;
}

export interface CallDraft extends ToolCall {
  readonly at: At;
  /** Aborts when the turn is stopped; nobody waits for the tap then. */
  readonly signal: AbortSignal;
}

export interface CallResult {
  /** What the model gets. */
  content: string;
  isError: boolean;
  readonly at: At;
}

export interface TurnDraft {
  readonly at: At;
  readonly prompt: string;
  readonly depth: number;
  /** Aborts when the turn is stopped; nobody waits for the tap then. */
  readonly signal: AbortSignal;
  /** Adds text behind the prompt. */
  inject(text: string): void;
}

export interface TurnEnd {
  readonly at: At;
  readonly depth: number;
  /** Aborts when the turn is stopped; nobody waits for the tap then. */
  readonly signal: AbortSignal;
  /** Makes `text` the next prompt. */
  next(text: string): void;
}

export interface SpawnDraft {
  readonly at: At;
  /** Adds a user message before the first prompt. */
  inject(text: string): void;
}

export interface CompactDraft {
  readonly at: At;
  readonly trigger: "manual" | "auto" | "overflow";
  inject(text: string): void;
}

export interface Failure {
  readonly at: At;
  readonly kind: BackendErrorKind | "unknown";
  readonly message: string;
  /** No retries: the turn ends with the error. */
  handled(): void;
}

const minute = 70_000;

/** An agent comes into being; a block refuses it with that text. */
export const agentSpawn = hook.gate<[draft: SpawnDraft]>("agentSpawn", {
  doc: "an agent is created, or its history was cleared or compacted",
  onThrow: "pass",
  limit: minute,
});
export const preTurn = hook.gate<[turn: TurnDraft]>("preTurn", {
  doc: "before each turn; a block drops the prompt",
  onThrow: "pass",
  limit: minute,
});
export const postTurn = hook.gate<[end: TurnEnd]>("postTurn", {
  doc: "after a turn that ended well; may give the next prompt",
  onThrow: "pass",
  limit: minute,
});
export const preTool = hook.gate<[call: CallDraft]>("preTool", {
  doc: "before each tool call; a block is the call's result",
  onThrow: "block",
  limit: minute,
});
export const postTool = hook.transform<[result: CallResult, call: CallDraft]>("postTool", {
  doc: "after each tool call: append to the result or replace it",
  limit: minute,
});
export const preCompact = hook.gate<[draft: CompactDraft]>("preCompact", {
  doc: "before compaction; a block cancels it",
  onThrow: "pass",
  limit: minute,
});
export const postCompact = hook.series<[at: At]>("postCompact", { doc: "after compaction", limit: minute });
export const turnError = hook.gate<[failure: Failure]>("turnError", {
  doc: "the first failed attempt to get a reply, before any retry",
  onThrow: "pass",
  limit: minute,
});
/** The request that is about to leave; a tap may give another list of messages. The prefix must stay byte-equal. */
export const request = hook.transform<[messages: readonly Message[], at: At]>("request", {
  doc: "the messages of a request before it leaves",
  limit: minute,
});
export const usage = hook.observe<[usage: Usage, at: At, model: string]>("usage", {
  doc: "tokens that one request used",
});

export { isKin } from "./rights.ts";
export type { Block };
