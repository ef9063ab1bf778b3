/** Shapes on disk. Messages keep the names of the older files; unknown keys of an agent survive. */
import type { Message, Params, ToolCall } from "#plugins/backends";
import type { Growing } from "#plugins/sessions";
import type { ChatMark } from "./chat-log.ts";
import type { Totals } from "./totals.ts";
import type { QueueItem } from "./types.ts";

/** Key of the agents in a session's file. */
export const SECTION = "agents";

export interface SavedCall {
  id: string;
  name: string;
  arguments: Record<string, unknown>;
  extra?: Record<string, unknown>;
}

export interface SavedMessage {
  role: "user" | "assistant" | "tool";
  content: string;
  tool_calls?: SavedCall[];
  tool_call_id?: string;
  name?: string;
  is_error?: boolean;
  reasoning?: unknown[];
}

/**
 * A prompt that waits. `shown`: it stands in chat already (an inject). `mail`: from another agent of the session; a turn
 * under way takes it between two steps. `errand`: see asker.ts.
 */
export interface Prompt extends QueueItem {
  shown?: boolean;
  mail?: boolean;
  errand?: string | undefined;
}

/** A process whose end the model was not told. */
export interface Background {
  /** Its number. */
  id: string;
  title: string;
  /** It ended with the daemon that ran it. */
  lost?: boolean;
}

/** What ctl, cfg, plan and name change. */
export interface Settings {
  name: string;
  /** Name of its config. */
  agent: string;
  backend: string;
  model: string;
  cwd: string;
  params: Params;
  /** Name of its sandbox profile, as its config said when that was last read. Empty: it names none. */
  sandbox: string;
  tools: string[];
  plan: string;
  feed: string;
  /** The rendered system prompt, and the facts that it was rendered with. */
  system: string;
  prime: Record<string, string>;
}

export interface SavedAgent extends Settings {
  id: string;
  /** UUID of the agent that made it. */
  creator?: string;
  /** Agents that made it, one by the other. */
  depth?: number;
  /** Sandbox profiles of those, outermost first: its own may be no wider. Empty text: the usual one. */
  bounds?: string[];
  /** An array in a file that is in one piece. */
  messages: Growing | readonly SavedMessage[];
  /** Estimate for those that are there to stay. */
  tokens: number;
  usage: Totals;
  queue: Prompt[];
  held: boolean;
  paused: boolean;
  inject?: Prompt;
  /** Texts of agentSpawn that ride with the first prompt. */
  spawn: string[];
  background: Background[];
  /** The last prompt submitted. */
  last: string;
  /** A turn was under way. */
  running: boolean;
  /** Number of the last journal line that is part of this. */
  seq: number;
  chat: ChatMark;
  /** Tokens of a model's window, once known. */
  window?: { model: string; tokens: number };
  counted?: Counted;
}

/** What a provider counted for the last request, and what was estimated for the same. */
export interface Counted {
  /** `backend/model`: another one counts in another way. */
  provider: string;
  tokens: number;
  estimate: number;
}

export function toSaved(message: Message): SavedMessage {
  switch (message.role) {
    case "tool":
      return {
        role: "tool",
        content: message.content,
        tool_call_id: message.toolCallId,
        name: message.name,
        ...(message.isError ? { is_error: true } : {}),
      };
    case "assistant":
      return {
        role: "assistant",
        content: message.content,
        ...(message.toolCalls ? { tool_calls: message.toolCalls.map(savedCall) } : {}),
        ...(message.reasoning ? { reasoning: message.reasoning } : {}),
      };
    default:
      return { role: "user", content: message.content };
  }
}

const savedCall = ({ id, name, args, extra }: ToolCall): SavedCall => ({
  id,
  name,
  arguments: args,
  ...(extra ? { extra } : {}),
});

/** undefined: nothing that can be used. */
export function fromSaved(value: unknown): Message | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const saved = value as Partial<SavedMessage>;
  const content = typeof saved.content === "string" ? saved.content : "";
  switch (saved.role) {
    case "user":
      return { role: "user", content };
    case "tool":
      return {
        role: "tool",
        content,
        toolCallId: String(saved.tool_call_id ?? ""),
        name: String(saved.name ?? ""),
        ...(saved.is_error ? { isError: true } : {}),
      };
    case "assistant":
      return {
        role: "assistant",
        content,
        ...(Array.isArray(saved.tool_calls) ? { toolCalls: saved.tool_calls.filter(isRecord).map(callOf) } : {}),
        ...(Array.isArray(saved.reasoning) ? { reasoning: saved.reasoning.filter(isRecord) as never[] } : {}),
      };
    default:
      return undefined;
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A call's name as it may stand in a request: models invent others, with which providers refuse each later request. */
export const legalName = (name: string): string =>
  name
    .trim()
    .replace(/[^\w-]/g, "_")
    .slice(0, 64) || "unnamed";

function callOf(saved: Partial<SavedCall>): ToolCall {
  const { arguments: args } = saved;
  return {
    id: String(saved.id ?? ""),
    name: legalName(typeof saved.name === "string" ? saved.name : ""),
    args: isRecord(args) ? args : {},
    ...(isRecord(saved.extra) ? { extra: saved.extra } : {}),
  };
}
