/** Thoughts: asked for as each model takes it, kept in order, sent back in place. */
import { expect, test } from "vitest";
import { requestOf } from "../../../plugins/backend-anthropic/request.ts";
import type { Message, Params } from "../../../plugins/backends/types.ts";
import { call, redacted, signatureOf, text, thinking } from "../../fakes/anthropic.ts";
import { answered, ask, backendOf, blocksOf, fakeProvider, hello, shellTool } from "./helpers.ts";

const request = (model: string, params: Params, messages: Message[] = hello, tools = [shellTool]) =>
  requestOf(model, messages, tools, params);

test("interleaved thoughts, redacted ones too, go back unchanged and in place", async () => {
  const fake = await fakeProvider();
  fake.reply(
    thinking("first"),
    text("I look. "),
    thinking("second"),
    redacted("b3BhcXVl"),
    text("Twice."),
    call("shell", { command: "ls" }, { id: "toolu_1" }),
    call("shell", { command: "pwd" }, { id: "toolu_2" }),
  );
  fake.reply(text("done"));
  const backend = backendOf(fake);
  const first = await ask(backend, hello, { tools: [shellTool], params: { reasoning: 2000 } });
  expect([first.reasoning, first.text]).toEqual(["firstsecond", "I look. Twice."]);
  expect(blocksOf(first)).toHaveLength(3);
  await ask(backend, [...hello, ...answered(first)], { tools: [shellTool], params: { reasoning: 2000 } });
  expect(fake.complaints).toEqual([]);
  expect(fake.requests[1]?.body.messages[1].content).toEqual([
    { type: "thinking", thinking: "first", signature: signatureOf("first") },
    { type: "text", text: "I look. " },
    { type: "thinking", thinking: "second", signature: signatureOf("second") },
    { type: "redacted_thinking", data: "b3BhcXVl" },
    { type: "text", text: "Twice." },
    { type: "tool_use", id: "toolu_1", name: "shell", input: { command: "ls" } },
    { type: "tool_use", id: "toolu_2", name: "shell", input: { command: "pwd" } },
  ]);
});

test("a thought whose text is left out keeps its signature", async () => {
  const fake = await fakeProvider();
  fake.reply(thinking(""), call("shell", {}));
  fake.reply(text("done"));
  const backend = backendOf(fake, "claude-opus-4-7");
  const first = await ask(backend, hello, { tools: [shellTool] });
  await ask(backend, [...hello, ...answered(first)], { tools: [shellTool] });
  expect(fake.complaints).toEqual([]);
  expect(fake.requests[1]?.body.messages[1].content[0]).toEqual({
    type: "thinking",
    thinking: "",
    signature: signatureOf(""),
  });
});

test("thoughts of another provider, and those that were cut off, are left out", () => {
  const { body } = request("claude-sonnet-4-5", {}, [
    ...hello,
    {
      role: "assistant",
      content: "hi",
      reasoning: [
        { provider: "gemini", text: "x", signature: "s" },
        { provider: "anthropic", text: "cut" },
      ],
    },
    { role: "user", content: "go" },
  ]);
  expect((body.messages as { content: unknown }[])[1]?.content).toEqual([{ type: "text", text: "hi" }]);
});

test.each<[string, Params, object]>([
  ["a budget", { reasoning: 4000, maxTokens: 10_000 }, { budget_tokens: 4000, max_tokens: 10_000 }],
  ["a budget over the limit is cut below it", { reasoning: 9000, maxTokens: 8000 }, { budget_tokens: 7999 }],
  ["a small one is raised to the least", { reasoning: 1, maxTokens: 8000 }, { budget_tokens: 1024 }],
  ["without a limit there is room for both", { reasoning: 16_000 }, { budget_tokens: 16_000, max_tokens: 24_192 }],
  ["no room at all is no thinking", { reasoning: 4000, maxTokens: 1024 }, { thinking: undefined, max_tokens: 1024 }],
  ["0 is off", { reasoning: 0 }, { thinking: undefined, max_tokens: 8192 }],
])("claude-sonnet-4-5: %s", (_, params, expected) => {
  const { body } = request("claude-sonnet-4-5", params);
  const { thinking: config, max_tokens } = body as { thinking?: { budget_tokens?: number }; max_tokens: number };
  expect({ thinking: config, budget_tokens: config?.budget_tokens, max_tokens }).toMatchObject(expected);
});

test("thinking between calls is asked for where it must be", () => {
  const beta = ["interleaved-thinking-2025-05-14"];
  expect(request("claude-sonnet-4-5", { reasoning: 2000 }).betas).toEqual(beta);
  expect(request("claude-sonnet-4-5", { reasoning: 2000 }, hello, []).betas).toEqual([]);
  expect(request("claude-sonnet-4-5", {}).betas).toEqual([]);
  expect(request("claude-3-7-sonnet-20250219", { reasoning: 2000 }).betas).toEqual([]);
  expect(request("claude-opus-4-6", { reasoning: 2000 }).betas).toEqual([]);
});

test.each([
  ["claude-opus-4-6", { type: "adaptive" }],
  ["claude-opus-4-7", { type: "adaptive", display: "summarized" }],
  ["anthropic.claude-sonnet-4.6", { type: "adaptive" }],
  ["claude-3-5-haiku-latest", undefined],
  ["claude-3-opus-20240229", undefined],
  ["kimi-k2", { type: "enabled", budget_tokens: 2000 }],
])("%s thinks as it can", (model, config) => {
  expect(request(model, { reasoning: 2000 }).body.thinking).toEqual(config);
});

test("thoughts that are bound to their history are dropped where it changed, not refused", async () => {
  for (const model of ["claude-sonnet-5-5", "claude-fable-5-1", "claude-opus-5-5-20261001"]) {
    const { body, betas } = request(model, {});
    expect(body.thinking).toEqual({
      type: "adaptive",
      block_binding: { prefix_mismatch_behavior: "drop_block" },
    });
    expect(betas).toEqual(["thinking-binding-controls-2026-08-01"]);
  }
  expect(request("claude-opus-5", {}).body).not.toHaveProperty("thinking");
  const fake = await fakeProvider();
  fake.reply(text("ok"));
  await ask(backendOf(fake, "claude-sonnet-5-5"));
  expect(fake.complaints).toEqual([]);
});

test("effort goes to the models that take it, in their words", () => {
  const effort = (model: string, reasoningEffort: string) => request(model, { reasoningEffort }).body.output_config;
  expect(effort("claude-opus-4-7", "xhigh")).toEqual({ effort: "xhigh" });
  expect(effort("claude-sonnet-4-6", "xhigh")).toEqual({ effort: "high" });
  expect(effort("claude-opus-4-5", "minimal")).toEqual({ effort: "low" });
  expect(effort("claude-sonnet-4-5", "high")).toBeUndefined();
  expect(effort("claude-opus-4-7", "toString")).toBeUndefined();
});

test("sampling goes only where it is taken", () => {
  const of = (model: string, params: Params) => {
    const { temperature, top_p, top_k } = request(model, params).body;
    return { temperature, top_p, top_k };
  };
  const all = { temperature: 1.4, topP: 0.9, topK: 40 };
  expect(of("claude-sonnet-4-20250514", all)).toEqual({ temperature: 1, top_p: 0.9, top_k: 40 });
  expect(of("claude-sonnet-4-5", all)).toEqual({ temperature: 1, top_k: 40 });
  expect(of("claude-sonnet-4-5", { topP: 0.9 })).toEqual({ top_p: 0.9 });
  expect(of("claude-sonnet-4-5", { ...all, reasoning: 2000 })).toEqual({});
  expect(of("claude-sonnet-4-5", { topP: 0.97, reasoning: 2000 })).toEqual({ top_p: 0.97 });
  expect(of("claude-opus-4-7", all)).toEqual({});
});

test("a round of calls that began without thoughts goes on without", async () => {
  const fake = await fakeProvider();
  fake.always(() => [text("ok")]);
  const backend = backendOf(fake);
  const round: Message[] = [
    ...hello,
    { role: "assistant", content: "", toolCalls: [{ id: "c1", name: "shell", args: {} }] },
    { role: "tool", toolCallId: "c1", name: "shell", content: "ok" },
  ];
  await ask(backend, round, { tools: [shellTool], params: { reasoning: 2000, temperature: 0.5 } });
  expect(fake.requests[0]?.body).toMatchObject({ temperature: 0.5 });
  const next: Message[] = [...round, { role: "assistant", content: "done" }, { role: "user", content: "more" }];
  await ask(backend, next, { tools: [shellTool], params: { reasoning: 2000 } });
  expect(fake.requests[1]?.body.thinking).toMatchObject({ type: "enabled" });
  expect(fake.complaints).toEqual([]);
});
