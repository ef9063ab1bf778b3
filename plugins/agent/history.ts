/**
 * The message list of one agent, legal at all times: every call id is unique and gets exactly one result, behind its
 * reply and in call order; nothing blank is stored, nor half of a surrogate pair, with which some providers refuse each
 * later request. Results may come in any order: they wait for the earlier ones.
 * The first of them may be on the disk alone (`away`): new ones are taken all the same, and `recalled` brings them back.
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
  /** What a request carries. Complete only where `open` is empty. Throws while some are away. */
  readonly messages: readonly Message[];
  /** Number of all of them. */
  readonly length: number;
  /** Messages at the beginning that are not in memory. */
  readonly away: number;
  /** Another number: another list, of which nothing was saved before. */
  readonly epoch: number;
  /** Those that no result can follow any more, all but `unsettled`. */
  readonly settled: Settled;
  /** A reply with calls that have no result yet, and results that wait. */
  readonly unsettled: readonly Message[];
  /** Calls of the last reply that have no result yet, in call order. */
  readonly open: readonly ToolCall[];
  /** Estimate for content, tool names and arguments. */
  readonly tokens: number;
  /** The same for those that are in memory. */
  readonly held: number;
  /** Begins with so many messages that are away. */
  begin(away: Omit<Settled, "from">): void;
  /** Leaves them all to the disk. None may be open. */
  leave(): void;
  /** Puts those that were away in their place. */
  recalled(messages: readonly Message[]): void;
  /** `id`, or a fresh one where it is blank or was used before in a message that is not away. It counts as used from then on. */
  mint(id: string): string;
  /** undefined: blank, not stored. */
  user(content: string): UserMessage | undefined;
  /** undefined: no calls and blank, not stored. The ids of `calls` come from `mint`. */
  reply(content: string, calls: ToolCall[], reasoning: ReasoningBlock[]): AssistantMessage | undefined;
  /** undefined: nobody waits for a result of this id. */
  result(id: string, outcome: Outcome): ToolMessage | undefined;
  clear(): void;
}

export interface Settled {
  length: number;
  tokens: number;
  /** Those from number `at` on. Throws where some are away. */
  from(at: number): readonly Message[];
}

export const noOutput = "(no output)";

const isBlank = (text: string): boolean => text.trim() === "";

/** `size`: tokens of a message. */
export function history(size: (message: Message) => number = sizeOf): History {
  /** Those in memory: behind the ones that are away. */
  let messages: Message[] = [];
  let away = 0;
  let epoch = 0;
  let calls: ToolCall[] = [];
  const results = new Map<string, ToolMessage>();
  const ids = new Set<string>();
  let tokens = 0;
  /** Of those that are away. */
  let awayTokens = 0;

  const add = <M extends Message>(message: M): M => {
    messages.push(message);
    tokens += size(message);
    return message;
  };
  const from = (at: number): Message[] => {
    if (at < away) throw new Error("history: messages are not in memory");
    return messages.slice(at - away);
  };
  const settled = () => {
    if (calls.length > 0) throw new Error("history: calls of the last reply have no result yet");
  };
  const unanswered = () => calls.filter((call) => !results.has(call.id));
  return {
    get messages() {
      if (away > 0) throw new Error("history: messages are not in memory");
      return messages;
    },
    get length() {
      return away + messages.length;
    },
    get away() {
      return away;
    },
    get epoch() {
      return epoch;
    },
    get settled() {
      const last = calls.length > 0 ? messages.at(-1) : undefined;
      if (!last) return { length: away + messages.length, tokens, from };
      return {
        length: away + messages.length - 1,
        tokens: tokens - size(last),
        from: (at: number) => from(at).slice(0, -1),
      };
    },
    get unsettled() {
      return calls.length > 0 ? [...messages.slice(-1), ...calls.flatMap((call) => results.get(call.id) ?? [])] : [];
    },
    get open() {
      return unanswered();
    },
    get tokens() {
      return tokens;
    },
    get held() {
      return tokens - awayTokens;
    },
    begin(on) {
      away = on.length;
      awayTokens = on.tokens;
      tokens = on.tokens;
    },
    leave() {
      settled();
      away += messages.length;
      awayTokens = tokens;
      messages = [];
      ids.clear();
    },
    recalled(first) {
      messages = [...first, ...messages];
      for (const message of first)
        if (message.role === "assistant") for (const call of message.toolCalls ?? []) ids.add(call.id);
      if (first.length !== away) {
        // not what was saved: repaired
        epoch++;
        tokens = messages.reduce((sum, message) => sum + size(message), 0);
      }
      away = 0;
      awayTokens = 0;
    },
    mint(id) {
      let fresh = id.trim();
      while (fresh === "" || ids.has(fresh)) fresh = `call_${randomUUID().replaceAll("-", "").slice(0, 12)}`;
      ids.add(fresh);
      return fresh;
    },
    user(content) {
      settled();
      return isBlank(content) ? undefined : add({ role: "user", content: content.toWellFormed() });
    },
    reply(content, made, reasoning) {
      settled();
      if (isBlank(content) && made.length === 0) return undefined;
      calls = made;
      for (const call of made) ids.add(call.id);
      return add({
        role: "assistant",
        content: isBlank(content) ? "" : content.toWellFormed(),
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
        content: isBlank(content) ? noOutput : content.toWellFormed(),
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
      away = 0;
      awayTokens = 0;
      epoch++;
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

export interface Loader {
  readonly counts: Loaded;
  add(message: Message): void;
}

/** Takes saved messages that may be torn or foreign into a history, one after the other, repairing what is not legal. */
export function loader(into: History, repair: (call: ToolCall) => Outcome): Loader {
  // Saved id -> ids in use: a file may hold one id twice.
  let renamed: [saved: string, id: string][] = [];
  const counts: Loaded = { repaired: 0, dropped: 0 };
  return {
    counts,
    add(message) {
      if (message.role === "tool") {
        const at = renamed.findIndex(([id]) => id === message.toolCallId);
        const id = renamed.splice(at, at < 0 ? 0 : 1)[0]?.[1];
        const outcome = { content: message.content, isError: message.isError === true };
        if (id === undefined || !into.result(id, outcome)) counts.dropped++;
        return;
      }
      counts.repaired += settle(into, repair).length;
      if (message.role === "user") counts.dropped += into.user(message.content) ? 0 : 1;
      if (message.role === "assistant") {
        const calls = (message.toolCalls ?? []).map((call) => ({ ...call, id: into.mint(call.id) }));
        renamed = calls.map((call, i) => [message.toolCalls?.[i]?.id ?? "", call.id]);
        if (!into.reply(message.content, calls, message.reasoning ?? [])) counts.dropped++;
      }
    },
  };
}

/** All of `saved` at once. */
export function load(into: History, saved: readonly Message[], repair: (call: ToolCall) => Outcome): Loaded {
  const to = loader(into, repair);
  for (const message of saved) to.add(message);
  return to.counts;
}

/** Gives every call that has none a result. */
export function settle(of: History, outcome: (call: ToolCall) => Outcome): ToolMessage[] {
  return of.open.flatMap((call) => of.result(call.id, outcome(call)) ?? []);
}
