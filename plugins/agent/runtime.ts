/** All that one agent is while the daemon runs. The public face (types.ts) is made of it by agent.ts. */
import type { Logger, PluginApi, Waiters } from "#core";
import type { AgentConfig, AgentConfigs } from "#plugins/agent-config";
import type { Backend, Backends } from "#plugins/backends";
import type { Events } from "#plugins/events";
import type { Sockets } from "#plugins/identity";
import type { Prompts } from "#plugins/prompts";
import type { Scheduler } from "#plugins/scheduler";
import type { Session, Sessions } from "#plugins/sessions";
import type { Tools } from "#plugins/tools";
import type { ToolRunner } from "#plugins/toolsrv";
import type { Chat } from "./chat.ts";
import type { Guards } from "./guards.ts";
import type { Histories } from "./histories.ts";
import type { History } from "./history.ts";
import type { ReadCache } from "./read-cache.ts";
import type { Background, Counted, Prompt, Settings } from "./saved.ts";
import type { Watch } from "./state.ts";
import type { Totals } from "./totals.ts";
import type { Agent, At, Compactor } from "./types.ts";

/** What the plugin may do, and how long it waits. */
export interface Deps {
  readonly call: PluginApi["call"];
  readonly log: Logger;
  readonly sessions: Sessions;
  readonly backends: Backends;
  readonly scheduler: Scheduler;
  readonly tools: Tools;
  readonly runner: ToolRunner;
  readonly configs: AgentConfigs;
  readonly prompts: Prompts;
  readonly events: Events;
  readonly compactor: () => Compactor | undefined;
  /** Where commands of the user's speak for their agent. */
  readonly sockets: Sockets | undefined;
  readonly options: Options;
  readonly histories: Histories;
  /** USD that a session has cost, with those that its agents made and the one that made it: one limit holds for all. */
  readonly spent: (session: Session) => number;
  /** The agents that it made, in its session and in others. */
  readonly children: (rt: Runtime) => Runtime[];
  /** Agents that may have written what it works with: those of its session, itself included, and the one that made it. */
  readonly makers: (rt: Runtime) => Runtime[];
  /** Rejects with the signal's reason when it aborts. */
  readonly delay: (ms: number, signal: AbortSignal) => Promise<void>;
  /** As Math.random. */
  readonly random: () => number;
}

export interface Options {
  retryBaseMs: number;
  idleMs: number;
  /** Bytes of a successful tool result; 0: no limit. */
  resultBytes: number;
  /** USD that a session may cost; undefined: no limit. */
  maxCost: number | undefined;
}

/** A turn under way. */
export interface Turn {
  readonly controller: AbortController;
  depth: number;
  /** Id of its prompt: it stands in the queue until it is part of the history. */
  item: string;
  /** Of that prompt: see asker.ts. */
  errand: string | undefined;
  /** It was stopped, and a prompt or `resume` has come since: the queue is not held. */
  goesOn: boolean;
  /** Names of the tools that run, in the order in which they started. */
  readonly calling: string[];
  readonly reads: ReadCache;
  readonly guards: Guards;
}

export interface Runtime extends Settings {
  readonly deps: Deps;
  /** What others see. */
  readonly face: Agent;
  readonly at: At;
  readonly id: string;
  readonly session: Session;
  readonly creator: string | undefined;
  /** Agents that made it, one by the other; 0: a person made it. */
  readonly depth: number;
  /** Sandbox profiles of those, outermost first: its own may be no wider. Empty text: the usual one. */
  readonly bounds: readonly string[];
  config: AgentConfig;
  provider: Backend;
  readonly history: History;
  readonly watch: Watch;
  readonly chat: Chat;
  totals: Totals;
  queue: Prompt[];
  inject: Prompt | undefined;
  spawn: string[];
  background: readonly Background[];
  last: string;
  /** The queue waits for the next prompt or `resume`. */
  held: boolean;
  /** `pause` was written. */
  paused: boolean;
  /** Nothing is started any more: the agent or the server is about to end. */
  closing: boolean;
  dead: boolean;
  turn: Turn | undefined;
  /** What else a stop ends: work of ctl, commands of the user. */
  readonly stoppable: Set<AbortController>;
  /** The user's `!commands` that run; each settles when nothing of it runs any more. */
  readonly commands: Set<Promise<void>>;
  /** Settles when the present run of turns has ended. */
  running: Promise<void> | undefined;
  /** Config and prompts are to be read again before the next turn. */
  stale: boolean;
  seq: number;
  /** The journal failed at its last write: said once. */
  unsaved: boolean;
  /** Woken by resume, inject, stop and by the end. */
  readonly wake: Waiters;
  /** Woken by writes to feed. */
  readonly feeds: Waiters;
  /** Window of the model, once known. */
  window: { model: string; tokens: number } | undefined;
  counted: Counted | undefined;
  /** Keys of the saved form that this version does not know. */
  readonly unknown: Readonly<Record<string, unknown>>;
}

const runtimes = new WeakMap<Agent, Runtime>();

export const register = (rt: Runtime): void => void runtimes.set(rt.face, rt);

/** The runtime behind an agent of this plugin. */
export function runtimeOf(agent: Agent): Runtime {
  const rt = runtimes.get(agent);
  if (!rt) throw new Error("agent: not made by this plugin");
  return rt;
}

/** `session/NAME/agent/NAME`, as event lines have it. */
export const pathOf = (rt: Runtime): string => `session/${rt.session.name}/agent/${rt.name}`;

/** The prompts that wait: all but that of the turn which has begun. */
export const waiting = (rt: Runtime): readonly Prompt[] =>
  rt.turn ? rt.queue.filter(({ id }) => id !== rt.turn?.item) : rt.queue;

/** In one line, of a text that may be long. Blanks are squeezed: of a text with many the beginning is shorter. */
export const beginning = (text: string, max: number): string =>
  [...text.slice(0, 4 * max).replace(/\s+/g, " ")].slice(0, max).join("");

export function publish(rt: Runtime, topic: string, line: string): void {
  rt.deps.events.publish(`session.${rt.session.id}.agent.${rt.id}.${topic}`, line);
}

/** A failure that a person should know of: an event, and a block of chat. */
export function fail(rt: Runtime, text: string): void {
  rt.chat.block("error", text);
  publish(rt, "error", `E ${pathOf(rt)} ${text}`);
}

export const info = (rt: Runtime, text: string): void => rt.chat.block("info", text);

export function setState(rt: Runtime, state: string): void {
  if (rt.watch.get("state") === state) return;
  rt.watch.set("state", state);
  publish(rt, "state", `A state ${pathOf(rt)} ${state}`);
}
