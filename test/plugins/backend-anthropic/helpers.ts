/** What the tests of this folder share. */
import { afterEach } from "vitest";
import { anthropicBackend } from "../../../plugins/backend-anthropic/factory.ts";
import type { Backend, Message, ReasoningBlock, ToolSchema } from "../../../plugins/backends/types.ts";
import { type AnthropicFake, anthropicFake, type FakeOptions } from "../../fakes/anthropic.ts";
import type { Outcome } from "../backend-openai/helpers.ts";

export { ask, failure, hello, shellTool } from "../backend-openai/helpers.ts";

const open: AnthropicFake[] = [];
afterEach(async () => {
  for (const fake of open.splice(0)) await fake.close();
});

export async function fakeProvider(options?: FakeOptions): Promise<AnthropicFake> {
  const fake = await anthropicFake(options);
  open.push(fake);
  return fake;
}

export function backendOf(fake: AnthropicFake, model = "claude-sonnet-4-5", env: Record<string, string> = {}): Backend {
  return anthropicBackend({ env: { OLLIE_ANTHROPIC_KEY: "sk-ant-1", ...fake.env, ...env } }).create({
    model,
  }) as Backend;
}

export const blocksOf = ({ events }: Outcome): ReasoningBlock[] =>
  events.flatMap((event) => (event.type === "reasoning-block" ? [event.block] : []));

/** The reply as it is stored and loaded again, and a result for each call. */
export function answered(outcome: Outcome, result = "ok"): Message[] {
  const toolCalls = outcome.calls.map(({ id, name, args }) => ({ id, name, args: JSON.parse(args || "{}") }));
  const reply: Message = {
    role: "assistant",
    content: outcome.text,
    ...(toolCalls.length > 0 ? { toolCalls } : {}),
    reasoning: blocksOf(outcome),
  };
  return [
    JSON.parse(JSON.stringify(reply)),
    ...toolCalls.map(({ id, name }) => ({ role: "tool" as const, toolCallId: id, name, content: result })),
  ];
}

export const thinkTool: ToolSchema = { name: "think", description: "thinks", parameters: { type: "object" } };
