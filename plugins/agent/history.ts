/**
 * The message list of one agent, legal at all times: every call id is unique and gets exactly one result, behind its
 * reply and in call order; nothing blank is stored. Results may come in any order: they wait for the earlier ones.
 */
import { randomUUID } from "node:crypto";
import type { Message, ReasoningBlock, ToolCall } from "#plugins/backends";
import { tokensOf } from "./estimate.ts";

export type UserMessage = Extract<Message, { role: "user" }>;
export type AssistantMessage = Extract<Message, { role: "assistant" }>;
export type ToolMessage = Extract<Message, { role: "tool" }>;

export interface Outcome {
  content: string;
  isError: boolean;
}

export interface History {
  /** What a request carries. Complete only where `open` is empty. */
  readonly messages: readonly Message[];
  /** Calls of the last reply that have no result yet, in call order. */
  readonly open: readonly ToolCall[];
  /** Results that are known but wait for those of earlier calls. */
  readonly early: readonly ToolMessage[];
  /** Estimate for content, tool names and arguments. */
  readonly tokens: number;
  /** `id`, or a fresh one where it is blank or was used before. It counts as used from then on. */
  mint(id: string): string;
  /** undefined: blank, not stored. */
  user(content: string): UserMessage | undefined;
  /** undefined: no calls and blank, not stored. The ids of `calls` come from `mint`. */
  reply(content: string, calls: ToolCall[], reasoning: ReasoningBlock[]): AssistantMessage | undefined;
  /** undefined: nobody waits for a result of this id. */
  result(id: string, outcome: Outcome): ToolMessage | undefined;
  clear(): void;
}

export const noOutput = "(no output)";

const isBlank = (text: string): boolean => text.trim() === "";

export function history(): History {
  let messages: Message[] = [];
  let calls: ToolCall[] = [];
  const results = new Map<string, ToolMessage>();
  const ids = new Set<string>();
  let tokens = 0;

  const add = <M extends Message>(message: M): M => {
    messages.push(message);
    tokens += sizeOf(message);
    return message;
  };
  const settled = () => {
    if (calls.length > 0) throw new Error("history: calls of the last reply have no result yet");
  };
  const unanswered = () => calls.filter((call) => !results.has(call.id));
  return {
    get messages() {
      return messages;
    },
    get open() {
      return unanswered();
    },
    get early() {
      return calls.flatMap((call) => results.get(call.id) ?? []);
    },
    get tokens() {
      return tokens;
    },
    mint(id) {
      let fresh = id.trim();
      while (fresh === "" || ids.has(fresh)) fresh = `call_${randomUUID().replaceAll("-", "").slice(0, 12)}`;
      ids.add(fresh);
      return fresh;
    },
    user(content) {
      settled();
      return isBlank(content) ? undefined : add({ role: "user", content });
    },
    reply(content, made, reasoning) {
      settled();
      if (isBlank(content) && made.length === 0) return undefined;
      calls = made;
      for (const call of made) ids.add(call.id);
      return add({
        role: "assistant",
        content: isBlank(content) ? "" : content,
        ...(made.length > 0 ? { toolCalls: made } : {}),
        ...(reasoning.length > 0 ? { reasoning } : {}),
      });
    },
    result(id, { content, isError }) {
      const call = unanswered().find((one) => one.id === id);
      if (!call) return undefined;
      const message: ToolMessage = {
        role: "tool",
        toolCallId: id,
        name: call.name,
        content: isBlank(content) ? noOutput : content,
        ...(isError ? { isError } : {}),
      };
      results.set(id, message);
      if (results.size < calls.length) return message;
      for (const one of calls) add(results.get(one.id) as ToolMessage);
      calls = [];
      results.clear();
      return message;
    },
    clear() {
      messages = [];
      calls = [];
      results.clear();
      tokens = 0;
    },
  };
}

function sizeOf(message: Message): number {
  let size = tokensOf(message.content);
  if (message.role === "assistant")
    for (const call of message.toolCalls ?? []) size += tokensOf(call.name) + tokensOf(JSON.stringify(call.args));
  return size;
}

export interface Loaded {
  /** Calls that had no result and got `repair`'s. */
  repaired: number;
  /** Results without a call, and blank messages. */
  dropped: number;
}

/** Fills an empty history from a saved list that may be torn or foreign, repairing what is not legal. */
export function load(into: History, saved: readonly Message[], repair: (call: ToolCall) => Outcome): Loaded {
  const counts: Loaded = { repaired: 0, dropped: 0 };
  // Saved id -> ids in use: a file may hold one id twice.
  let renamed: [saved: string, id: string][] = [];
  for (const message of saved) {
    if (message.role === "tool") {
      const at = renamed.findIndex(([id]) => id === message.toolCallId);
      const id = renamed.splice(at, at < 0 ? 0 : 1)[0]?.[1];
      const outcome = { content: message.content, isError: message.isError === true };
      if (id === undefined || !into.result(id, outcome)) counts.dropped++;
      continue;
    }
    counts.repaired += settle(into, repair).length;
    if (message.role === "user") counts.dropped += into.user(message.content) ? 0 : 1;
    if (message.role === "assistant") {
      const calls = (message.toolCalls ?? []).map((call) => ({ ...call, id: into.mint(call.id) }));
      renamed = calls.map((call, i) => [message.toolCalls?.[i]?.id ?? "", call.id]);
      if (!into.reply(message.content, calls, message.reasoning ?? [])) counts.dropped++;
    }
  }
  return counts;
}

/** Gives every call that has none a result. */
export function settle(of: History, outcome: (call: ToolCall) => Outcome): ToolMessage[] {
  return of.open.flatMap((call) => of.result(call.id, outcome(call)) ?? []);
}
