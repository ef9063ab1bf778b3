/**
 * Thinking blocks between a reply and the history. They go back unchanged and where they stood among text and calls:
 * the provider checks both.
 */
import type { ThinkingBlockParam } from "@anthropic-ai/sdk/resources/messages";
import type { ReasoningBlock } from "#plugins/backends";

const provider = "anthropic";

/** What stood before a block in its reply: characters of text, and calls. */
export interface Place {
  text: number;
  calls: number;
}

interface Kept extends Place {
  /** The whole of a redacted block. */
  redacted?: string;
}

export const thought = (text: string, signature: string, { text: before, calls }: Place): ReasoningBlock => ({
  provider,
  text,
  signature,
  data: { text: before, calls } satisfies Kept,
});

export const redacted = (data: string, { text, calls }: Place): ReasoningBlock => ({
  provider,
  text: "",
  data: { text, calls, redacted: data } satisfies Kept,
});

export type ThoughtParam = ThinkingBlockParam | { type: "redacted_thinking"; data: string };

/** Our own blocks of a message, in order, as they go back; what another provider made is left out. */
export function thoughtsOf(blocks: readonly ReasoningBlock[] | undefined): (Place & { param: ThoughtParam })[] {
  return (blocks ?? []).flatMap((block) => {
    const { text = 0, calls = 0 } = (block.data ?? {}) as Partial<Kept>;
    const param = block.provider === provider ? paramOf(block) : undefined;
    return param ? [{ text, calls, param }] : [];
  });
}

function paramOf({ text, signature, data }: ReasoningBlock): ThoughtParam | undefined {
  const { redacted } = (data ?? {}) as Partial<Kept>;
  if (redacted !== undefined) return { type: "redacted_thinking", data: redacted };
  // One without a signature was cut off: the provider would refuse it.
  return signature === undefined ? undefined : { type: "thinking", thinking: text, signature };
}
