/** OpenRouter: settings, cost, errors in the stream, reasoning that goes back. */
import { expect, test } from "vitest";
import { openrouterBackend } from "../../../plugins/backend-openai/factory.ts";
import { openrouter, settings } from "../../../plugins/backend-openai/settings.ts";
import type { Backend, Message } from "../../../plugins/backends/types.ts";
import { call, delta, finish, json, type OpenAIFake, raw, text, usage } from "../../fakes/openai.ts";
import { ask, failure, fakeProvider, hello, shellTool } from "./helpers.ts";

const backendOf = (fake: OpenAIFake, model = "anthropic/claude-sonnet-4.5") =>
  openrouterBackend({ env: { OLLIE_OPENROUTER_URL: fake.url, OLLIE_OPENROUTER_KEY: "sk-or-1" } }).create({
    model,
  }) as Backend;

test("key and URL: its own names first, OLLIE_OPENAI_* only where the URL is OpenRouter's", () => {
  const of = (env: Record<string, string>) => settings(env, undefined, openrouter);
  expect(of({ OPENROUTER_API_KEY: "b" })).toMatchObject({ baseURL: "https://openrouter.ai/api/v1", key: "b" });
  expect(of({ OLLIE_OPENROUTER_KEY: "a", OPENROUTER_API_KEY: "b" })).toMatchObject({ key: "a", router: true });
  expect(of({ OLLIE_OPENAI_URL: "https://openrouter.ai/api", OLLIE_OPENAI_KEY: "c" })).toMatchObject({
    baseURL: "https://openrouter.ai/api/v1",
    key: "c",
    why: "OLLIE_OPENAI_KEY and OLLIE_OPENAI_URL are set",
  });
  expect(of({ OLLIE_OPENAI_URL: "http://127.0.0.1:1", OLLIE_OPENAI_KEY: "c" })).toEqual({
    missing: "OLLIE_OPENROUTER_KEY or OPENROUTER_API_KEY is not set",
  });
});

test("H-102: the cost that is reported is taken as it is, with cached and written tokens", async () => {
  const fake = await fakeProvider({ key: "sk-or-1" });
  const details = { prompt_tokens_details: { cached_tokens: 150, cache_write_tokens: 30 }, cost: 0.95 };
  fake.reply(text("a"), usage(194, 2, details));
  expect((await ask(backendOf(fake))).usage).toEqual({
    input: 194,
    cachedInput: 150,
    cacheCreation: 30,
    output: 2,
    costUSD: 0.95,
  });
});

test("H-013: an error in the stream is a failure of the router, with the words of the server behind it", async () => {
  const fake = await fakeProvider();
  fake.exactly(
    text("a"),
    json({ choices: [], error: { code: 502, message: "upstream limit", metadata: { raw: "busy" } } }),
    raw("data: [DONE]\n\n"),
  );
  fake.exactly(call("shell", '{"comm'), finish("error"), raw("data: [DONE]\n\n"));
  const backend = backendOf(fake);
  expect(failure(await ask(backend))).toMatchObject({
    kind: "transient",
    status: 502,
    message: "openrouter: upstream limit: busy",
  });
  const half = await ask(backend);
  expect(failure(half).kind).toBe("transient");
  expect(half.calls).toEqual([]);
});

test("reasoning_details are put together, kept, and sent back to the same model only", async () => {
  const fake = await fakeProvider();
  fake.reply(
    delta({
      reasoning: "let me ",
      reasoning_details: [{ type: "reasoning.text", text: "let me ", index: 0, format: "anthropic-claude-v1" }],
    }),
    delta({ reasoning: "think", reasoning_details: [{ type: "reasoning.text", text: "think", index: 0 }] }),
    delta({ reasoning_details: [{ type: "reasoning.text", signature: "c2ln", index: 0 }] }),
    delta({ reasoning_details: [{ type: "reasoning.encrypted", data: "eHl6", index: 1 }] }),
    call("shell", { command: "ls" }, { id: "c1" }),
  );
  const backend = backendOf(fake);
  const { events, reasoning } = await ask(backend, hello, { tools: [shellTool] });
  expect(reasoning).toBe("let me think");
  const block = events.find((event) => event.type === "reasoning-block")?.block;
  const details = [
    { type: "reasoning.text", text: "let me think", index: 0, format: "anthropic-claude-v1", signature: "c2ln" },
    { type: "reasoning.encrypted", data: "eHl6", index: 1 },
  ];
  expect(block).toMatchObject({ provider: "openrouter", text: "let me think", data: { details } });

  fake.always(() => [text("ok")]);
  const saved = JSON.parse(JSON.stringify(block));
  const history: Message[] = [
    ...hello,
    {
      role: "assistant",
      content: "",
      reasoning: [{ provider: "anthropic", text: "x", signature: "y" }, saved],
      toolCalls: [{ id: "c1", name: "shell", args: { command: "ls" } }],
    },
    { role: "tool", toolCallId: "c1", name: "shell", content: "a" },
  ];
  await ask(backend, history);
  expect(fake.requests[1]?.body.messages[1].reasoning_details).toEqual(details);
  await ask(backendOf(fake, "openai/gpt-5.4"), history);
  expect(fake.requests[2]?.body.messages[1]).not.toHaveProperty("reasoning_details");
  expect(fake.complaints).toEqual([]);
});
