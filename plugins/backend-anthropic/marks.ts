/**
 * Cache marks: the provider keeps what stands before each, and takes four. They are on the last tool, on the system block
 * and on the last two messages of the user, of which the first is where the request before this one ended.
 */
import type { MessageParam, TextBlockParam, Tool } from "@anthropic-ai/sdk/resources/messages";

const mark = { cache_control: { type: "ephemeral" as const } };

export function markLast<T extends Tool | TextBlockParam>(blocks: readonly T[]): T[] {
  return blocks.map((block, at) => (at === blocks.length - 1 ? { ...block, ...mark } : block));
}

export function markHistory(messages: readonly MessageParam[]): MessageParam[] {
  const inputs = messages.flatMap(({ role }, at) => (role === "user" ? [at] : []));
  const chosen = new Set(inputs.slice(-2));
  return messages.map((message, at) =>
    chosen.has(at) && Array.isArray(message.content)
      ? { ...message, content: markLast(message.content as TextBlockParam[]) }
      : message,
  );
}
