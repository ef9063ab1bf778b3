/** Cache marks for Claude behind a router: the provider caches what stands before each, and takes four. */
import type { ChatCompletionMessageParam } from "openai/resources/chat/completions";

const mark = { cache_control: { type: "ephemeral" } };

/** Marks that move with the history: the last message, and the one that was last before it was answered. */
const moving = 2;

/** Only the model's own provider knows the marks. */
export const wantsMarks = (router: boolean, model: string): boolean => router && /claude-/i.test(model);

/**
 * The same messages with marks on the system message and on the last ones that are the user's or a tool's. All of these
 * get the form that can be marked, so that they keep it as the marks move on.
 */
export function markMessages(messages: readonly ChatCompletionMessageParam[]): ChatCompletionMessageParam[] {
  const inputs = messages.flatMap(({ role }, at) => (role === "user" || role === "tool" ? [at] : []));
  const chosen = new Set(inputs.slice(-moving));
  return messages.map((message, at) => {
    if (message.role === "assistant" || typeof message.content !== "string") return message;
    const marked = message.role === "system" || chosen.has(at);
    const content = [{ type: "text", text: message.content, ...(marked ? mark : {}) }];
    return { ...message, content } as ChatCompletionMessageParam;
  });
}

/** The same tools with a mark on the last one. */
export const markTools = <T extends object>(tools: readonly T[]): T[] =>
  tools.map((tool, at) => (at === tools.length - 1 ? { ...tool, ...mark } : tool));
