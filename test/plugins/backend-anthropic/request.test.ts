/** What is sent: blocks, results, marks, headers. */
import { expect, test } from "vitest";
import { requestOf } from "../../../plugins/backend-anthropic/request.ts";
import { settings } from "../../../plugins/backend-anthropic/settings.ts";
import type { Message } from "../../../plugins/backends/types.ts";
import { text } from "../../fakes/anthropic.ts";
import { ask, backendOf, failure, fakeProvider, hello, shellTool, thinkTool } from "./helpers.ts";

const mark = { cache_control: { type: "ephemeral" } };
const history: Message[] = [
  { role: "system", content: "be brief" },
  { role: "system", content: "  " },
  { role: "system", content: "the folder is /tmp" },
  { role: "user", content: "list" },
  {
    role: "assistant",
    content: "\n\n",
    toolCalls: [
      { id: "c1", name: "shell", args: { command: "ls" } },
      { id: "c2", name: "shell", args: {} },
    ],
  },
  { role: "tool", toolCallId: "c1", name: "shell", content: "a b" },
  { role: "tool", toolCallId: "c2", name: "shell", content: "no such file", isError: true },
  { role: "user", content: "hurry" },
  { role: "system", content: "plan: none" },
];

test("a history is legal for a strict provider: results in one message, first, errors as errors, no blank block", async () => {
  const fake = await fakeProvider();
  fake.reply(text("ok"));
  await ask(backendOf(fake), history, { tools: [shellTool] });
  expect(fake.complaints).toEqual([]);
  expect(fake.requests[0]?.body).toMatchObject({
    system: [{ type: "text", text: "be brief\n\nthe folder is /tmp", ...mark }],
    messages: [
      { role: "user", content: [{ type: "text", text: "list", ...mark }] },
      {
        role: "assistant",
        content: [
          { type: "tool_use", id: "c1", name: "shell", input: { command: "ls" } },
          { type: "tool_use", id: "c2", name: "shell", input: {} },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "c1", content: "a b" },
          { type: "tool_result", tool_use_id: "c2", content: "no such file", is_error: true },
          { type: "text", text: "hurry" },
          { type: "text", text: "plan: none", ...mark },
        ],
      },
    ],
  });
});

test("marks are on the system block, the last tool and the last two inputs; the older one is where the last request ended", () => {
  const at = (messages: Message[]) => {
    const { body } = requestOf("claude-sonnet-4-5", messages, [shellTool, thinkTool], {});
    const sent = body.messages as { role: string; content: object[] }[];
    return {
      count: JSON.stringify(body).split('"cache_control"').length - 1,
      messages: sent.flatMap(({ content }, n) => ("cache_control" in (content.at(-1) ?? {}) ? [n] : [])),
      tools: (body.tools as object[]).map((tool) => "cache_control" in tool),
    };
  };
  const turn = (n: number): Message[] => [
    { role: "user", content: `question ${n}` },
    { role: "assistant", content: `answer ${n}` },
  ];
  const ask: Message = { role: "user", content: "and?" };
  const system = history.slice(0, 1);
  expect(at([...system, ask])).toEqual({ count: 3, messages: [0], tools: [false, true] });
  expect(at([...system, ...turn(1), ask])).toEqual({ count: 4, messages: [0, 2], tools: [false, true] });
  expect(at([...system, ...turn(1), ...turn(2), ask])).toMatchObject({ count: 4, messages: [2, 4] });
});

test("headers and limits are those of the manual", async () => {
  const fake = await fakeProvider({ key: "sk-ant-1" });
  fake.reply(text("ok"));
  await ask(backendOf(fake), hello, { params: { stop: [" ", "END"] } });
  const { headers, body } = fake.requests[0] ?? { headers: {}, body: {} };
  expect(headers).toMatchObject({ "x-api-key": "sk-ant-1", "anthropic-version": "2023-06-01" });
  expect(headers).not.toHaveProperty("authorization");
  expect(body).toMatchObject({ max_tokens: 8192, stop_sequences: ["END"], stream: true });
});

test("a bearer token is sent as one", async () => {
  const fake = await fakeProvider();
  fake.reply(text("ok"));
  await ask(backendOf(fake, "m", { OLLIE_ANTHROPIC_KEY: "", ANTHROPIC_AUTH_TOKEN: "tok-1" }));
  expect(fake.requests[0]?.headers).toMatchObject({ authorization: "Bearer tok-1" });
  expect(fake.requests[0]?.headers).not.toHaveProperty("x-api-key");
});

test("variables of the package do not reach a request", async () => {
  const fake = await fakeProvider();
  fake.reply(text("ok"));
  const before = { ...process.env };
  Object.assign(process.env, { ANTHROPIC_API_KEY: "sk-other", ANTHROPIC_AUTH_TOKEN: "other", ANTHROPIC_LOG: "debug" });
  try {
    await ask(backendOf(fake, "m", { OLLIE_ANTHROPIC_KEY: "sk-ant-1" }));
  } finally {
    process.env = before;
  }
  expect(JSON.stringify(fake.requests[0]?.headers)).not.toContain("other");
});

test("keys and URLs are taken in the order of the manual", () => {
  expect(settings({})).toEqual({ missing: "OLLIE_ANTHROPIC_KEY or ANTHROPIC_API_KEY is not set" });
  expect(settings({ ANTHROPIC_API_KEY: " b\n" })).toEqual({
    baseURL: "https://api.anthropic.com",
    key: "b",
    bearer: false,
    official: true,
    why: "ANTHROPIC_API_KEY is set",
  });
  expect(settings({ OLLIE_ANTHROPIC_KEY: "a", ANTHROPIC_API_KEY: "b" })).toMatchObject({ key: "a" });
  for (const url of ["http://x", "http://x/", "http://x/v1/"])
    expect(settings({ OLLIE_ANTHROPIC_URL: url })).toMatchObject({ baseURL: "http://x", official: false });
});

test("an unusable key is said by its variables, and a missing one too", async () => {
  const fake = await fakeProvider();
  const error = failure(await ask(backendOf(fake, "m", { OLLIE_ANTHROPIC_KEY: "sk-\u0001x" })));
  expect(error.message).toMatch(/^anthropic: the key holds a character that no key has \(OLLIE_ANTHROPIC_KEY/);
});
