/** What is sent. */
import { expect, test } from "vitest";
import { bodyOf } from "../../../plugins/backend-openai/request.ts";
import type { Message } from "../../../plugins/backends/types.ts";
import { text } from "../../fakes/openai.ts";
import { ask, backendOf, fakeProvider, shellTool } from "./helpers.ts";

const foreign = { official: false, router: false };
const official = { official: true, router: false };
const router = { official: false, router: true };

const history: Message[] = [
  { role: "system", content: "be brief" },
  { role: "system", content: "  " },
  { role: "system", content: "the folder is /tmp" },
  { role: "user", content: "list" },
  { role: "assistant", content: "\n\n" },
  {
    role: "assistant",
    content: "\n",
    reasoning: [{ provider: "other", text: "hm", signature: "s" }],
    toolCalls: [
      { id: "c1", name: "shell", args: { command: "ls" } },
      { id: "c2", name: "shell", args: {} },
    ],
  },
  { role: "tool", toolCallId: "c1", name: "shell", content: "a b", isError: false },
  { role: "tool", toolCallId: "c2", name: "shell", content: " " },
  { role: "assistant", content: "two files" },
  { role: "user", content: "" },
  { role: "user", content: "thanks" },
  { role: "system", content: "plan: none" },
];

test("a history is legal for a strict provider, and says what it said", async () => {
  const fake = await fakeProvider();
  fake.reply(text("ok"));
  await ask(backendOf(fake), history, { tools: [shellTool] });
  expect(fake.complaints).toEqual([]);
  expect(fake.requests[0]?.body.messages).toEqual([
    { role: "system", content: "be brief\n\nthe folder is /tmp" },
    { role: "user", content: "list" },
    {
      role: "assistant",
      content: null,
      tool_calls: [
        { id: "c1", type: "function", function: { name: "shell", arguments: '{"command":"ls"}' } },
        { id: "c2", type: "function", function: { name: "shell", arguments: "{}" } },
      ],
    },
    { role: "tool", tool_call_id: "c1", content: "a b" },
    { role: "tool", tool_call_id: "c2", content: "(no output)" },
    { role: "assistant", content: "two files" },
    { role: "user", content: "thanks" },
    { role: "user", content: "plan: none" },
  ]);
});

test("text beside calls is sent", () => {
  const { messages } = bodyOf(
    "m",
    [{ role: "assistant", content: "let me look", toolCalls: [{ id: "c", name: "shell", args: {} }] }],
    [],
    {},
    foreign,
  );
  expect(messages[1]).toMatchObject({ content: "let me look" });
});

test("a longer history begins with the same bytes", () => {
  const before = JSON.stringify(bodyOf("m", history.slice(0, 4), [shellTool], {}, foreign).messages);
  const after = JSON.stringify(bodyOf("m", history.slice(0, 9), [shellTool], {}, foreign).messages);
  expect(after.startsWith(before.slice(0, -1))).toBe(true);
});

test("only what is set is sent", () => {
  expect(Object.keys(bodyOf("m", history, [], {}, foreign))).toEqual(["model", "messages", "stream", "stream_options"]);
  const body = bodyOf(
    "m",
    history,
    [shellTool],
    { temperature: 0, maxTokens: 5, stop: [], topK: 3, minP: 0.1 },
    foreign,
  );
  expect(body).toMatchObject({ temperature: 0, max_tokens: 5, top_k: 3, min_p: 0.1, tools: [{ type: "function" }] });
  expect(body).not.toHaveProperty("stop");
});

test("the provider's own endpoint gets the names that it takes", () => {
  const params = { maxTokens: 5, topK: 3, reasoningEffort: "high" };
  const body = bodyOf("gpt-5.4", history, [], params, official);
  expect(body).toMatchObject({ max_completion_tokens: 5, reasoning_effort: "high" });
  expect(body).not.toHaveProperty("max_tokens");
  expect(body).not.toHaveProperty("top_k");
});

test("tools on the provider's own endpoint go without reasoning where it refuses both", () => {
  const effort = (model: string, where: typeof official) =>
    bodyOf(model, history, [shellTool], { reasoningEffort: "high" }, where).reasoning_effort;
  expect(effort("gpt-5.6-terra", official)).toBe("none");
  expect(effort("gpt-5.10", official)).toBe("none");
  expect(effort("gpt-5.1", official)).toBe("high");
  expect(effort("gpt-5.6-terra", foreign)).toBe("high");
});

test("connections are used again", async () => {
  const fake = await fakeProvider();
  fake.always(() => [text("ok")]);
  const backend = backendOf(fake);
  for (let n = 0; n < 8; n++) await ask(backend);
  expect(new Set(fake.requests.map(({ port }) => port)).size).toBeLessThan(8);
});

test("Claude behind a router: marks on the system message, the last tool and the last two inputs, and no others", () => {
  const tools = [shellTool, { ...shellTool, name: "think" }];
  const mark = { type: "ephemeral" };
  const body = bodyOf("anthropic/claude-sonnet-4.5", history, tools, {}, router);
  const marked = body.messages.map(({ role, content }) =>
    JSON.stringify(content).includes("cache_control") ? role : "-",
  );
  expect(marked).toEqual(["system", "-", "-", "-", "-", "-", "user", "user"]);
  expect(body.messages[0]?.content).toEqual([
    { type: "text", text: "be brief\n\nthe folder is /tmp", cache_control: mark },
  ]);
  expect(body.tools?.map((tool) => (tool as { cache_control?: object }).cache_control)).toEqual([undefined, mark]);
  expect(JSON.stringify(body).split("cache_control")).toHaveLength(5);
  for (const [model, where] of [
    ["anthropic/claude-sonnet-4.5", foreign],
    ["openai/gpt-5.4", router],
  ] as const)
    expect(JSON.stringify(bodyOf(model, history, tools, {}, where))).not.toContain("cache_control");
});

test("a router gets reasoning in its own form: a budget or an effort", () => {
  const reasoning = (params: object) => (bodyOf("m", history, [], params, router) as { reasoning?: object }).reasoning;
  expect(reasoning({ reasoning: 2000, reasoningEffort: "high" })).toEqual({ max_tokens: 2000 });
  expect(reasoning({ reasoningEffort: "high" })).toEqual({ effort: "high" });
  expect(reasoning({ reasoning: 0 })).toBeUndefined();
  expect(bodyOf("m", history, [], { includeReasoning: true }, router)).toMatchObject({ include_reasoning: true });
});
