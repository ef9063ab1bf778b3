/** The Ollama wire, against a strict fake. */
import { afterEach, expect, test } from "vitest";
import { ollamaBackend } from "../../../plugins/backend-ollama/index.ts";
import type { Message } from "../../../plugins/backends/types.ts";
import { after, ask, failure, hello, readTool } from "../../fakes/ask.ts";
import { calls, last, type OllamaFakeOptions, ollamaFake, say, think } from "../../fakes/ollama.ts";

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const fake of open.splice(0)) await fake.close();
});

async function start(options: OllamaFakeOptions & { env?: Record<string, string>; idle?: number } = {}) {
  const fake = await ollamaFake(options);
  open.push(fake);
  const factory = ollamaBackend({ env: { ...fake.env, ...options.env }, idle: options.idle });
  return { fake, factory, backend: await factory.create({ model: "fake:1b" }) };
}

const read = (path: string, id?: string) => ({ ...(id ? { id } : {}), name: "file_read", arguments: { path } });

test("text comes as it is sent, the last line's too", async () => {
  const { fake, backend } = await start();
  fake.reply(say("日本語 🌍"), last({ message: { role: "assistant", content: " end" } }));
  const { text, done, usage, error } = await ask(backend);
  expect(error).toBeUndefined();
  expect(text).toBe("日本語 🌍 end");
  expect(done).toEqual({ type: "done", stop: "stop", raw: "stop" });
  expect(usage).toEqual({ input: 100, output: 10 });
});

test("H-002: one byte at a time, in CRLF lines, and a last line without an end", async () => {
  const { fake, backend } = await start();
  const line = (value: object) => JSON.stringify(value);
  fake.exactly([`${line(say("é🌍")[0] as object)}\r\n\r\n${line(calls(read("é🌍")))}\n${line(last())}`], 1);
  const outcome = await ask(backend, hello, { tools: [readTool] });
  expect(outcome.text).toBe("é🌍");
  expect(outcome.calls.map(({ args }) => args)).toEqual(['{"path":"é🌍"}']);
});

test("H-008: calls without ids, of one tool twice, get ids of their own and go back in order", async () => {
  const { fake, backend } = await start();
  fake.reply(calls(read("a"), read("b")));
  fake.reply(say("done"));
  const outcome = await ask(backend, hello, { tools: [readTool] });
  expect(outcome.calls.map(({ name, args }) => [name, args])).toEqual([
    ["file_read", '{"path":"a"}'],
    ["file_read", '{"path":"b"}'],
  ]);
  expect(new Set(outcome.calls.map(({ id }) => id)).size).toBe(2);
  expect(outcome.done?.stop).toBe("tool_calls");
  const second = await ask(backend, after(hello, outcome, ["A", "B"]), { tools: [readTool] });
  expect(second.error).toBeUndefined();
  expect(fake.chats[1]?.body.messages.slice(1)).toEqual([
    {
      role: "assistant",
      content: "",
      tool_calls: outcome.calls.map(({ id, args }) => ({
        id,
        function: { name: "file_read", arguments: JSON.parse(args) },
      })),
    },
    { role: "tool", content: "A", tool_name: "file_read", tool_call_id: outcome.calls[0]?.id },
    { role: "tool", content: "B", tool_name: "file_read", tool_call_id: outcome.calls[1]?.id },
  ]);
  expect(fake.complaints).toEqual([]);
});

test("H-008: ids that the server gives are kept, once each", async () => {
  const { fake, backend } = await start();
  fake.reply(calls(read("a", "x1"), read("b", "x2")), calls(read("c", "x2")));
  const ids = (await ask(backend, hello, { tools: [readTool] })).calls.map(({ id }) => id);
  expect(ids.slice(0, 2)).toEqual(["x1", "x2"]);
  expect(new Set(ids).size).toBe(3);
});

test("H-010: a call written as text over six lines is a call", async () => {
  const { fake, backend } = await start();
  const text = '<tool_call>{"name":"file_read","arguments":{"path":"a"}}</tool_call>';
  fake.reply(say(text, Math.ceil(text.length / 6)));
  const outcome = await ask(backend, hello, { tools: [readTool] });
  expect(outcome.text).toBe("");
  expect(outcome.calls).toMatchObject([{ name: "file_read", args: '{"path":"a"}' }]);
  expect(outcome.done?.stop).toBe("tool_calls");
});

test("thinking is shown, kept, and sent back in its field", async () => {
  const { fake, backend } = await start();
  fake.reply(think("hm, let me see"), calls(read("a")));
  fake.reply(say("ok"));
  const outcome = await ask(backend, hello, { tools: [readTool] });
  expect(outcome.reasoning).toBe("hm, let me see");
  await ask(backend, after(hello, outcome, ["A"]), { tools: [readTool] });
  expect(fake.chats[1]?.body.messages[1].thinking).toBe("hm, let me see");
});

test.each([
  [{ reasoning: 1000 }, ["tools", "thinking"], true],
  [{ reasoning: 0 }, ["tools", "thinking"], false],
  [{ reasoningEffort: "low" }, ["thinking"], true],
  [{}, ["thinking"], undefined],
  [{ reasoning: 1000 }, ["tools"], undefined],
])("with %j, a model of %j is asked to think: %s", async (params, capabilities, think) => {
  const { fake, backend } = await start({ show: { model_info: {}, capabilities } });
  fake.reply(say("ok"));
  await ask(backend, hello, { params });
  expect(fake.chats[0]?.body.think).toBe(think);
});

test("parameters go into options", async () => {
  const { fake, backend } = await start();
  fake.reply(say("ok"));
  await ask(backend, hello, {
    params: {
      temperature: 0.5,
      topK: 3,
      maxTokens: 7,
      repetitionPenalty: 1.1,
      stop: ["x"],
      responseFormat: "json_object",
    },
  });
  expect(fake.chats[0]?.body).toMatchObject({
    format: "json",
    options: { temperature: 0.5, top_k: 3, num_predict: 7, repeat_penalty: 1.1, stop: ["x"], num_ctx: 32_768 },
  });
});

test("blank messages are left out, and a later system message is the user's", async () => {
  const { fake, backend } = await start();
  fake.reply(say("ok"));
  const messages: Message[] = [
    { role: "system", content: "be kind" },
    { role: "system", content: " " },
    { role: "user", content: "a" },
    { role: "assistant", content: "\n" },
    { role: "system", content: "note" },
  ];
  expect((await ask(backend, messages)).error).toBeUndefined();
  expect(fake.chats[0]?.body.messages).toEqual([
    { role: "system", content: "be kind" },
    { role: "user", content: "a" },
    { role: "user", content: "note" },
  ]);
});

const show = (tokens: unknown, parameters = "") => ({ model_info: { "qwen3.context_length": tokens }, parameters });

test.each<[string, OllamaFakeOptions & { env?: Record<string, string> }, number]>([
  ["the usual window", { show: show(262_144) }, 32_768],
  ["no more than the model has", { show: show(8_192) }, 8_192],
  ["what the Modelfile asks for", { show: show(262_144, "stop x\nnum_ctx                        65536") }, 65_536],
  ["what the user asks for", { show: show(262_144), env: { OLLIE_OLLAMA_CONTEXT: "100000" } }, 100_000],
  ["no more than the model has, whoever asks", { show: show(4_096), env: { OLLIE_OLLAMA_CONTEXT: "100000" } }, 4_096],
  [
    "what runs, where that is more",
    { show: show(262_144), loaded: [{ name: "fake:1b", context_length: 131_072 }] },
    131_072,
  ],
  ["what runs is not less", { show: show(40_960), loaded: [{ name: "fake:1b", context_length: 4_096 }] }, 32_768],
  ["a length as text", { show: show("16384") }, 16_384],
  ["no nonsense", { show: show(0) }, 32_768],
  ["the usual window where nothing is told", { show: { error: "no" } }, 32_768],
])("H-107: num_ctx is %s, and that is the context length", async (_, options, tokens) => {
  const { fake, backend } = await start(options);
  fake.reply(say("ok"));
  await ask(backend);
  expect(fake.chats[0]?.body.options.num_ctx).toBe(tokens);
  expect(await backend.contextLength()).toBe(tokens);
});

test("H-107: a prompt that the server cut is said", async () => {
  const { fake, backend } = await start({ show: show(40_960), loaded: [{ name: "fake:1b", context_length: 4_096 }] });
  const long: Message[] = [{ role: "user", content: "word ".repeat(6_400) }];
  fake.reply(say("ok"), last({ prompt_eval_count: 2_050 }));
  const { warnings, done } = await ask(backend, long);
  expect(warnings).toEqual([expect.stringMatching(/took 2050 tokens of a prompt of about 8\d\d\d.*32768/)]);
  expect(done?.stop).toBe("stop");
  fake.reply(say("ok"), last({ prompt_eval_count: 2_050 }));
  const again = await ask(backend, long);
  expect(again.warnings).toEqual([]); // said once
  // What the server counted is not what the history has: the agent must not take it for room.
  expect(again.usage).toMatchObject({ estimated: true });
  expect(again.usage?.input).toBeGreaterThan(8_000);
});

test("H-107: a prompt that was taken whole gives no warning", async () => {
  const { fake, backend } = await start();
  fake.reply(say("ok"), last({ prompt_eval_count: 7_000 }));
  expect((await ask(backend, [{ role: "user", content: "word ".repeat(6_400) }])).warnings).toEqual([]);
});

test("no counts are an estimate", async () => {
  const { fake, backend } = await start();
  fake.reply(say("four"), last({ prompt_eval_count: undefined, eval_count: undefined }));
  expect((await ask(backend)).usage).toMatchObject({ estimated: true, output: 1 });
});

test.each<[number | string, string, string]>([
  [404, '{"error":"model \\"x\\" not found, try pulling it first"}', "badRequest"],
  [400, '{"error":"registry/x does not support tools"}', "toolUnsupported"],
  [500, '{"error":"llama runner process has terminated"}', "transient"],
  [503, '{"error":"server busy, please try again. maximum pending requests exceeded"}', "transient"],
  ["in the stream", '{"error":"an error was encountered while running the model"}', "transient"],
])("an error %s is %s", async (status, body, kind) => {
  const { fake, backend } = await start();
  if (typeof status === "number") fake.error(status, body, { "content-type": "application/json" });
  else fake.exactly([`${JSON.stringify(say("a")[0])}\n${body}\n`]);
  const error = failure(await ask(backend));
  expect(error.kind).toBe(kind);
  expect(error.message).toMatch(/^ollama: /);
  expect(error.message).toContain(JSON.parse(body).error);
});

test.each<[string, string, string]>([
  ["H-015: a stream that ends early", `${JSON.stringify(say("I will")[0])}\n`, "transient"],
  ["a broken line", '{"message":{"content":"a"\n', "transient"],
  ["a page", "<html><title>hello</title></html>", "badRequest"],
  ["nothing", "", "transient"],
])("%s is an error", async (_, body, kind) => {
  const { fake, backend } = await start();
  fake.exactly([body]);
  expect(failure(await ask(backend)).kind).toBe(kind);
});

test("H-019: silence ends, before the first byte and behind it", async () => {
  const { fake, backend } = await start({ idle: 400 });
  fake.exactly([{ do: "stall" }]);
  expect(failure(await ask(backend)).kind).toBe("transient");
  fake.exactly([`${JSON.stringify(say("a")[0])}\n`, { do: "stall" }]);
  const late = await ask(backend);
  expect([late.text, failure(late).kind]).toEqual(["a", "transient"]);
});

test("an abort throws its reason", async () => {
  const { fake, backend } = await start();
  fake.exactly([`${JSON.stringify(say("a")[0])}\n`, { do: "stall" }]);
  const stop = new AbortController();
  const reason = new Error("enough");
  const outcome = await ask(backend, hello, { signal: stop.signal, onEvent: () => stop.abort(reason) });
  expect(outcome.error).toBe(reason);
});

test("models are sorted; a server that is gone is said", async () => {
  const { fake, backend } = await start({ models: ["z:1b", "a:7b", "a:7b"] });
  expect(await backend.models()).toEqual(["a:7b", "z:1b"]);
  await fake.close();
  await expect(backend.models()).rejects.toMatchObject({
    kind: "transient",
    message: expect.stringMatching(/^ollama: .*ECONNREFUSED/),
  });
});

test("available: the variable is enough, else somebody must answer", async () => {
  const { fake } = await start();
  expect(await ollamaBackend({ env: { OLLIE_OLLAMA_URL: "http://x" } }).available()).toEqual({
    ok: true,
    why: "OLLIE_OLLAMA_URL is set",
  });
  const there = ollamaBackend({ env: { OLLAMA_HOST: fake.url.replace("http://", "") } });
  expect(await there.available()).toMatchObject({ ok: true, why: expect.stringContaining(fake.url) });
  await there.available();
  expect(fake.requests.filter(({ path }) => path === "/api/version")).toHaveLength(1);
  await fake.close();
  expect(await ollamaBackend({ env: { OLLAMA_HOST: fake.url } }).available()).toMatchObject({ ok: false });
  expect(await ollamaBackend({ env: { OLLIE_OLLAMA_URL: "nonsense" } }).available()).toMatchObject({ ok: false });
});

test("a key goes as a bearer, the hosted service's only there", async () => {
  const { fake, backend } = await start({ env: { OLLIE_OLLAMA_KEY: "k-1" } });
  fake.reply(say("ok"));
  await ask(backend);
  expect(fake.chats[0]?.headers.authorization).toBe("Bearer k-1");
  const other = await start({ env: { OLLAMA_API_KEY: "k-2" } });
  other.fake.reply(say("ok"));
  await ask(other.backend);
  expect(other.fake.chats[0]?.headers.authorization).toBeUndefined();
});
