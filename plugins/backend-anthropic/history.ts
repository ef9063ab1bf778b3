/** Our messages on this wire: user and assistant in turns, each a list of blocks, results in the user's. */
import type { ContentBlockParam, MessageParam, TextBlockParam } from "@anthropic-ai/sdk/resources/messages";
import { legalHistory, type Message } from "#plugins/backends";
import { thoughtsOf } from "./thoughts.ts";

export interface History {
  /** One block, or none. */
  system: TextBlockParam[];
  messages: MessageParam[];
}

type Assistant = Extract<Message, { role: "assistant" }>;

const blank = (text: string): boolean => text.trim() === "";
const callId = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * The history as the provider takes it. System messages at the start are joined into one block; a later one goes as the
 * user's, so that what stands before it keeps its bytes.
 */
export function historyOf(messages: readonly Message[]): History {
  const start = messages.findIndex((m) => m.role !== "system");
  const head = messages.slice(0, start < 0 ? undefined : start).map((m) => m.content);
  const system = head.filter((text) => !blank(text)).join("\n\n");
  const out: MessageParam[] = [];
  for (const message of start < 0 ? [] : legalHistory(messages.slice(start), { id: callId })) {
    const role = message.role === "assistant" ? "assistant" : "user";
    const last = out.at(-1);
    if (last?.role === role) (last.content as ContentBlockParam[]).push(...blocksOf(message));
    else out.push({ role, content: blocksOf(message) });
  }
  return { system: system === "" ? [] : [{ type: "text", text: system }], messages: out };
}

function blocksOf(message: Message): ContentBlockParam[] {
  if (message.role === "assistant") return replyOf(message);
  if (message.role !== "tool") return [{ type: "text", text: message.content }];
  return [
    {
      type: "tool_result",
      tool_use_id: message.toolCallId,
      content: message.content,
      ...(message.isError ? { is_error: true } : {}),
    },
  ];
}

/** Text, thoughts and calls in the order in which they came. */
function replyOf({ content, toolCalls = [], reasoning }: Assistant): ContentBlockParam[] {
  const blocks: ContentBlockParam[] = [];
  let text = 0;
  let calls = 0;
  const upTo = (textEnd: number, callsEnd: number) => {
    const piece = content.slice(text, textEnd);
    if (!blank(piece)) blocks.push({ type: "text", text: piece });
    for (const { id, name, args } of toolCalls.slice(calls, callsEnd))
      blocks.push({ type: "tool_use", id, name, input: args });
    text = Math.max(text, textEnd);
    calls = Math.max(calls, callsEnd);
  };
  for (const thought of thoughtsOf(reasoning)) {
    upTo(thought.text, thought.calls);
    blocks.push(thought.param);
  }
  upTo(content.length, toolCalls.length);
  return blocks;
}
