/** The Gemini wire, against a strict fake. */
import { afterEach, expect, test } from "vitest";
import { geminiBackend } from "../../../plugins/backend-gemini/index.ts";
import type { Message } from "../../../plugins/backends/types.ts";
import { after, ask, failure, hello, readTool } from "../../fakes/ask.ts";
import { event, finish, type GeminiFakeOptions, geminiFake, type Part, parts, usage } from "../../fakes/gemini.ts";

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const fake of open.splice(0)) await fake.close();
});

async function start(options: GeminiFakeOptions & { model?: string; idle?: number } = {}) {
  const fake = await geminiFake(options);
  open.push(fake);
  const factory = geminiBackend({ env: fake.env, idle: options.idle });
  return { fake, factory, backend: await factory.create({ model: options.model ?? "gemini-3-fake" }) };
}

const read = (path: string, more: Partial<Part> & { id?: string } = {}): Part => {
  const { id, ...rest } = more;
  return { functionCall: { ...(id ? { id } : {}), name: "file_read", args: { path } }, ...rest };
};
const tools = [readTool];

test("text, thinking, usage and the end", async () => {
  const { fake, backend } = await start();
  fake.reply(parts({ text: "hm", thought: true }), parts({ text: "日本" }), parts({ text: "語 🌍" }));
  const outcome = await ask(backend);
  expect(outcome.error).toBeUndefined();
  expect([outcome.text, outcome.reasoning]).toEqual(["日本語 🌍", "hm"]);
  expect(outcome.usage).toEqual({ input: 100, output: 10 });
  expect(outcome.done).toEqual({ type: "done", stop: "stop", raw: "STOP" });
});

test("H-002: one byte at a time", async () => {
  const { fake, backend } = await start();
  fake.exactly([`${event(parts({ text: "é🌍" }, read("é🌍")))}${event(finish("STOP"))}`], 1);
  const { text, calls } = await ask(backend, hello, { tools });
  expect([text, calls[0]?.args]).toEqual(["é🌍", '{"path":"é🌍"}']);
});

test("H-009: a signature goes back on its part, and parts without one stay without", async () => {
  const { fake, backend } = await start({ signatures: true });
  fake.reply(parts(read("a", { thoughtSignature: "AbC=" }), read("b")));
  fake.reply(parts({ text: "done" }));
  const outcome = await ask(backend, hello, { tools });
  expect(new Set(outcome.calls.map(({ id }) => id)).size).toBe(2);
  const second = await ask(backend, after(hello, outcome, ["A", "B"]), { tools });
  expect(second.error).toBeUndefined();
  expect(fake.chats[1]?.body.contents.slice(1)).toEqual([
    { role: "model", parts: [read("a", { thoughtSignature: "AbC=" }), read("b")] },
    {
      role: "user",
      parts: ["A", "B"].map((output) => ({ functionResponse: { name: "file_read", response: { output } } })),
    },
  ]);
});

test("H-009: the same after the history was saved as JSON and loaded by another backend", async () => {
  const { fake, factory, backend } = await start({ signatures: true });
  fake.reply(parts({ text: "I look.", thoughtSignature: "T1=" }, read("a", { thoughtSignature: "AbC=", id: "s1" })));
  fake.reply(parts({ text: "done" }));
  const outcome = await ask(backend, hello, { tools });
  expect(outcome.calls[0]?.id).toBe("s1");
  const saved = JSON.parse(JSON.stringify(after(hello, outcome, ["A"]))) as Message[];
  const other = await factory.create({ model: "gemini-3-fake" });
  expect((await ask(other, saved, { tools })).error).toBeUndefined();
  expect(fake.chats[1]?.body.contents[1].parts).toEqual([
    { text: "I look.", thoughtSignature: "T1=" },
    read("a", { thoughtSignature: "AbC=", id: "s1" }),
  ]);
  expect(fake.chats[1]?.body.contents[2].parts[0].functionResponse.id).toBe("s1");
});

test("H-009: a signature on text, and on an empty part at the end, stays on its own part", async () => {
  const { fake, backend } = await start();
  fake.reply(
    parts({ text: "one " }),
    parts({ text: "two", thoughtSignature: "S1" }),
    parts({ text: " three" }),
    parts({ text: "", thoughtSignature: "S2" }),
  );
  fake.reply(parts({ text: "ok" }));
  const outcome = await ask(backend);
  await ask(backend, [...after(hello, outcome, []), { role: "user", content: "go on" }]);
  expect(fake.chats[1]?.body.contents[1].parts).toEqual([
    { text: "one " },
    { text: "two", thoughtSignature: "S1" },
    { text: " three" },
    { text: "", thoughtSignature: "S2" },
  ]);
});

test("calls of another provider get the documented stand-in for a signature, once a step", async () => {
  const { fake, backend } = await start({ signatures: true });
  fake.reply(parts({ text: "ok" }));
  const messages: Message[] = [
    ...hello,
    {
      role: "assistant",
      content: "",
      toolCalls: ["a", "b"].map((path) => ({
        id: path,
        name: "file_read",
        args: { path },
        extra: { extra_content: 1 },
      })),
    },
    { role: "tool", toolCallId: "a", name: "file_read", content: "A" },
    { role: "tool", toolCallId: "b", name: "file_read", content: "no such file", isError: true },
  ];
  expect((await ask(backend, messages, { tools })).error).toBeUndefined();
  const [, made, results] = fake.chats[0]?.body.contents ?? [];
  expect(made.parts.map(({ thoughtSignature }: Part) => thoughtSignature)).toEqual([
    "skip_thought_signature_validator",
    undefined,
  ]);
  expect(results.parts[1].functionResponse.response).toEqual({ error: "no such file" });
});

test("roles alternate, blanks are left out, system messages at the start are the instruction", async () => {
  const { fake, backend } = await start();
  fake.reply(parts({ text: "ok" }));
  const messages: Message[] = [
    { role: "system", content: "be kind" },
    { role: "system", content: "be brief" },
    { role: "user", content: "a" },
    { role: "assistant", content: " \n" },
    { role: "system", content: "note" },
    { role: "user", content: "b" },
  ];
  expect((await ask(backend, messages)).error).toBeUndefined();
  expect(fake.chats[0]?.body).toMatchObject({
    systemInstruction: { parts: [{ text: "be kind\n\nbe brief" }] },
    contents: [{ role: "user", parts: [{ text: "a" }, { text: "note" }, { text: "b" }] }],
  });
  expect(fake.chats[0]?.headers["x-goog-api-key"]).toBe("g-key-1");
});

test("H-104: thinking tokens are output", async () => {
  const { fake, backend } = await start();
  const counts = {
    promptTokenCount: 55_021,
    candidatesTokenCount: 923,
    thoughtsTokenCount: 785,
    totalTokenCount: 56_729,
  };
  fake.reply(parts({ text: "ok" }), usage(counts));
  const { usage: got } = await ask(backend);
  expect(got).toEqual({ input: 55_021, output: 1_708, reasoning: 785 });
  expect((got?.input ?? 0) + (got?.output ?? 0)).toBe(counts.totalTokenCount);
});

test("cached tokens are part of the prompt", async () => {
  const { fake, backend } = await start();
  fake.reply(
    parts({ text: "ok" }),
    usage({ promptTokenCount: 1000, cachedContentTokenCount: 900, candidatesTokenCount: 1 }),
  );
  expect((await ask(backend)).usage).toEqual({ input: 1000, cachedInput: 900, output: 1 });
});

test.each([
  ["gemini-2.5-pro", { reasoning: 2048 }, { includeThoughts: true, thinkingBudget: 2048 }],
  ["gemini-2.5-flash", { reasoning: 0 }, { thinkingBudget: 0 }],
  ["gemini-2.5-flash", { reasoningEffort: "low" }, { includeThoughts: true, thinkingBudget: 1024 }],
  ["gemini-3-pro", { reasoningEffort: "low" }, { includeThoughts: true, thinkingLevel: "low" }],
  ["gemini-3-pro", { reasoning: 2048 }, { includeThoughts: true }],
  ["gemini-3-pro", {}, undefined],
  ["gemini-2.0-flash", { reasoning: 2048 }, undefined],
])("%s with %j thinks by %j", async (model, params, config) => {
  const { fake, backend } = await start({ model });
  fake.reply(parts({ text: "ok" }));
  await ask(backend, hello, { params });
  expect(fake.chats[0]?.path).toContain(`/models/${model}:`);
  expect(fake.chats[0]?.body.generationConfig?.thinkingConfig).toEqual(config);
});

test("parameters", async () => {
  const { fake, backend } = await start();
  fake.reply(parts({ text: "ok" }));
  await ask(backend, hello, {
    params: { maxTokens: 5, temperature: 0, topP: 0.5, topK: 2, stop: ["x"], responseFormat: "json_object" },
  });
  expect(fake.chats[0]?.body.generationConfig).toEqual({
    maxOutputTokens: 5,
    temperature: 0,
    topP: 0.5,
    topK: 2,
    stopSequences: ["x"],
    responseMimeType: "application/json",
  });
});

test("H-011: the output limit marks the last call", async () => {
  const { fake, backend } = await start();
  fake.reply(parts(read("a"), read("b")), finish("MAX_TOKENS"));
  const { calls, done } = await ask(backend, hello, { tools });
  expect(calls.map(({ cut }) => cut)).toEqual([undefined, true]);
  expect(done?.stop).toBe("length");
});

test.each([
  [
    "a blocked prompt",
    [{ promptFeedback: { blockReason: "PROHIBITED_CONTENT" } }],
    "badRequest",
    /the prompt was refused \(PROHIBITED_CONTENT\)/,
  ],
  [
    "a blocked reply",
    [finish("SAFETY", { finishMessage: "harm" })],
    "badRequest",
    /the reply was refused \(SAFETY\): harm/,
  ],
  [
    "a garbled call",
    [finish("MALFORMED_FUNCTION_CALL", { finishMessage: "print(x)" })],
    "transient",
    /MALFORMED_FUNCTION_CALL: print\(x\)/,
  ],
  [
    "an error in the stream",
    [parts({ text: "a" }), { error: { code: 503, message: "overloaded", status: "UNAVAILABLE" } }],
    "transient",
    /overloaded/,
  ],
] as const)("%s is an error in the provider's words", async (_, chunks, kind, words) => {
  const { fake, backend } = await start();
  fake.reply(...chunks);
  const error = failure(await ask(backend));
  expect([error.kind, error.message]).toEqual([kind, expect.stringMatching(words)]);
});

test("what was said before a block stands, and the block is the reason of the end", async () => {
  const { fake, backend } = await start();
  fake.reply(parts({ text: "half" }), finish("RECITATION"));
  const { text, done } = await ask(backend);
  expect([text, done]).toEqual(["half", { type: "done", stop: "content_filter", raw: "RECITATION" }]);
});

const quota = (quotaId: string, retryDelay?: string) => ({
  code: 429,
  status: "RESOURCE_EXHAUSTED",
  message: "You exceeded your current quota, please check your plan and billing details.",
  details: [
    { "@type": "type.googleapis.com/google.rpc.QuotaFailure", violations: [{ quotaId }] },
    ...(retryDelay ? [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay }] : []),
  ],
});

test.each([
  ["H-016: a limit of a minute", quota("GenerateContentInputTokensPerModelPerMinute", "34.0748s"), "rateLimit", 34_075],
  ["H-017: a limit of a day", quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier", "12s"), "quota", 12_000],
  ["H-016: a limit that says nothing", { code: 429, message: "Resource exhausted" }, "rateLimit", undefined],
])("%s", async (_, error, kind, wait) => {
  const { fake, backend } = await start();
  fake.error(429, error);
  const got = failure(await ask(backend));
  expect([got.kind, got.retryAfterMs, got.status]).toEqual([kind, wait, 429]);
  expect(got.message).toContain(error.message);
});

test.each<[string, string, string]>([
  ["H-015: a stream that ends early", event(parts({ text: "I will" })), "transient"],
  ["a broken line", 'data: {"candi\n\n', "transient"],
  ["a page", "<html><title>hi</title></html>", "badRequest"],
  ["nothing", "", "transient"],
])("%s is an error", async (_, body, kind) => {
  const { fake, backend } = await start();
  fake.exactly([body]);
  expect(failure(await ask(backend)).kind).toBe(kind);
});

test("H-019: silence ends", async () => {
  const { fake, backend } = await start({ idle: 400 });
  fake.exactly([event(parts({ text: "a" })), { do: "stall" }]);
  expect(failure(await ask(backend)).kind).toBe("transient");
});

test("a wrong key is auth, and never shown", async () => {
  const { fake } = await start({ key: "right-key" });
  const backend = await geminiBackend({ env: { ...fake.env, OLLIE_GEMINI_KEY: "wrong-key-123" } }).create({
    model: "m",
  });
  const error = failure(await ask(backend));
  expect(error.message).not.toContain("wrong-key-123");
  expect(failure(await ask(await geminiBackend({ env: {} }).create({ model: "m" }))).message).toMatch(
    /OLLIE_GEMINI_KEY or GEMINI_API_KEY or GOOGLE_API_KEY is not set/,
  );
});

test("models: those that generate, over pages; the window is the input's", async () => {
  const row = (name: string, methods: string[], inputTokenLimit: unknown) => ({
    name: `models/${name}`,
    supportedGenerationMethods: methods,
    inputTokenLimit,
  });
  const pages = [
    {
      models: [row("gemini-3-fake", ["generateContent"], 1_048_576), row("embed", ["embedContent"], 2048)],
      nextPageToken: "p2",
    },
    { models: [row("a", ["generateContent"], 0)] },
  ];
  const { fake, backend } = await start({ models: [...pages, ...pages] });
  expect(await backend.models()).toEqual(["a", "gemini-3-fake"]);
  expect(fake.requests[1]?.query.get("pageToken")).toBe("p2");
  expect(await backend.contextLength()).toBe(1_048_576);
  backend.setModel("a");
  expect(await backend.contextLength()).toBeUndefined();
});

test("available names the variable", async () => {
  expect(await geminiBackend({ env: {} }).available()).toMatchObject({ ok: false });
  expect(await geminiBackend({ env: { GOOGLE_API_KEY: "k" } }).available()).toEqual({
    ok: true,
    why: "GOOGLE_API_KEY is set",
  });
});
