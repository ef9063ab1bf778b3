/** A history made by one provider, as another one takes it: what all of them demand, and the shape of call ids that one does. */
import { createHash } from "node:crypto";
import type { Message, ToolCall } from "./types.ts";

type Assistant = Extract<Message, { role: "assistant" }>;

export interface Rules {
  /** What a call id must look like. Default: anything but blank. */
  id?: RegExp;
}

const blank = (text: string): boolean => !/\S/.test(text);

/**
 * The same history with: call ids that are legal and used once, exactly one result behind each call and no other
 * results, nothing blank, and a user's message first. What is right already is given back as it is, and the same
 * history gives the same result, so that a prefix stays byte-equal. System messages are left where they are.
 */
export function legalHistory(messages: readonly Message[], { id: shape = /\S/ }: Rules = {}): readonly Message[] {
  if (isLegal(messages, shape)) return messages;
  const out: Message[] = [];
  const taken = new Set<string>();
  const legalId = (id: string) => {
    let legal = id;
    // The number of ids before it tells two calls of one id apart, and is the same in each request.
    for (let n = taken.size; !shape.test(legal) || taken.has(legal); n++) legal = shortId(`${id} ${n}`);
    taken.add(legal);
    return legal;
  };
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at] as Message;
    if (message.role === "tool") continue; // taken with its call
    if (message.role !== "assistant") {
      if (!blank(message.content)) out.push(message);
      continue;
    }
    const calls = message.toolCalls ?? [];
    if (blank(message.content) && calls.length === 0) continue;
    if (!out.some(({ role }) => role === "user")) out.push({ role: "user", content: "Go on." });
    const results = resultsBehind(messages, at);
    const renamed = calls.map((call) => ({ ...call, id: legalId(call.id) }));
    out.push(calls.length > 0 ? { ...message, toolCalls: renamed } : withoutCalls(message));
    for (const [n, call] of renamed.entries()) out.push(resultOf(call, calls[n]?.id ?? "", results));
  }
  if (out.at(-1)?.role === "assistant") out.push({ role: "user", content: "Go on." });
  return out;
}

/** Nearly always: the agent keeps its history so, and to look costs a fraction of making it anew for each request. */
function isLegal(messages: readonly Message[], shape: RegExp): boolean {
  const taken = new Set<string>();
  let asked = false;
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at] as Message;
    if (message.role === "tool") return false; // those of calls are passed over below
    if (message.role !== "assistant" || message.toolCalls === undefined) {
      if (blank(message.content) || (message.role === "assistant" && !asked)) return false;
      asked ||= message.role === "user";
      continue;
    }
    if (!asked || message.toolCalls.length === 0) return false;
    for (const { id } of message.toolCalls) {
      const result = messages[++at];
      if (!shape.test(id) || taken.has(id)) return false;
      if (result?.role !== "tool" || result.toolCallId !== id || blank(result.content)) return false;
      taken.add(id);
    }
  }
  return messages.at(-1)?.role !== "assistant";
}

type Result = Extract<Message, { role: "tool" }>;

function resultsBehind(messages: readonly Message[], at: number): Result[] {
  const results: Result[] = [];
  for (let next = at + 1; messages[next]?.role === "tool"; next++) results.push(messages[next] as Result);
  return results;
}

/** Takes the call's result out of `results`. */
function resultOf(call: ToolCall, oldId: string, results: Result[]): Result {
  const found = results.findIndex(({ toolCallId }) => toolCallId === oldId);
  const [result] = found < 0 ? [] : results.splice(found, 1);
  if (!result)
    return { role: "tool", toolCallId: call.id, name: call.name, content: "error: no result is known", isError: true };
  const content = blank(result.content) ? "(no output)" : result.content;
  return { ...result, toolCallId: call.id, content };
}

function withoutCalls({ toolCalls: _, ...message }: Assistant): Assistant {
  return message;
}

/** Nine letters and digits: the strictest shape that is known. */
const shortId = (seed: string): string =>
  createHash("sha256")
    .update(seed)
    .digest("base64url")
    .replace(/[^A-Za-z0-9]/g, "")
    .slice(0, 9);
