/** The stream: calls, ends, errors, counts. */
import { expect, test } from "vitest";
import { begin, call, eof, fault, finish, json, ping, raw, status, text } from "../../fakes/anthropic.ts";
import { ask, backendOf, failure, fakeProvider } from "./helpers.ts";

test.each([
  ["no fragments", call("shell", "", { size: 0 })],
  ["an empty fragment", call("shell", "")],
  ["white space", call("shell", "  \n")],
  ["null", call("shell", "null")],
])("H-004: a call with %s comes once, with a text that means no arguments", async (_, parts) => {
  const fake = await fakeProvider();
  fake.reply(parts);
  const { calls } = await ask(backendOf(fake));
  expect(calls).toHaveLength(1);
  expect(["", "null"]).toContain(calls[0]?.args.trim());
});

test("arguments that come whole with the start of a call are taken", async () => {
  const fake = await fakeProvider();
  fake.reply(call("shell", "", { size: 0, input: { command: "ls" } }));
  expect((await ask(backendOf(fake))).calls[0]?.args).toBe('{"command":"ls"}');
});

test("H-008: calls without ids, or with one id, get their own", async () => {
  const fake = await fakeProvider();
  fake.reply(call("shell", {}, { id: "" }), call("shell", {}, { id: "x" }), call("shell", {}, { id: "x" }));
  const ids = (await ask(backendOf(fake))).calls.map(({ id }) => id);
  expect(new Set(ids).size).toBe(3);
  expect(ids.every((id) => /^[\w-]+$/.test(id))).toBe(true);
});

test.each([
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["tool_use", "tool_calls"],
  ["refusal", "content_filter"],
  ["pause_turn", "other"],
])("stop_reason %s is %s, and is kept", async (label, reason) => {
  const fake = await fakeProvider();
  fake.reply(text("a"), finish(label));
  expect((await ask(backendOf(fake))).done).toEqual({ type: "done", stop: reason, raw: label });
});

test("H-011: stop_reason max_tokens marks the last call, although its arguments parse", async () => {
  const fake = await fakeProvider();
  fake.reply(call("shell", { path: "a" }), call("shell", { path: "f.txt" }), finish("max_tokens"));
  const { calls } = await ask(backendOf(fake));
  expect(calls.map(({ cut }) => cut)).toEqual([undefined, true]);
});

test("H-011: calls are whole where text came after them", async () => {
  const fake = await fakeProvider();
  fake.reply(call("shell", { path: "a" }), text("and so"), finish("max_tokens"));
  expect((await ask(backendOf(fake))).calls[0]?.cut).toBeUndefined();
});

test.each([
  ["overloaded_error", "transient"],
  ["api_error", "transient"],
  ["rate_limit_error", "rateLimit"],
  ["authentication_error", "auth"],
  ["invalid_request_error", "badRequest"],
  ["billing_error", "quota"],
])("H-014: an error event of type %s is %s", async (type, kind) => {
  const fake = await fakeProvider();
  fake.exactly(text("Hel"), fault(type, "so it is"));
  expect(failure(await ask(backendOf(fake)))).toMatchObject({ kind, message: "anthropic: so it is" });
});

test("H-015: an end behind a stop reason needs no message_stop", async () => {
  const fake = await fakeProvider();
  fake.exactly(text("done"), finish("end_turn"), eof());
  expect(await ask(backendOf(fake))).toMatchObject({ error: undefined, text: "done", done: { stop: "stop" } });
});

test("what is not known yet, and pings, are signs of life", async () => {
  const fake = await fakeProvider();
  fake.reply(
    ping(),
    json({ type: "content_block_start", content_block: { type: "server_tool_use", id: "s", name: "x", input: {} } }),
    json({ type: "content_block_delta", delta: { type: "new_delta", x: 1 } }),
    json({ type: "content_block_stop" }),
    json({ type: "brand_new" }),
    text("ok"),
  );
  const { text: said, calls, error } = await ask(backendOf(fake));
  expect([said, calls.length, error]).toEqual(["ok", 0, undefined]);
});

test("H-102: cached and written tokens stand beside input on this wire", async () => {
  const fake = await fakeProvider();
  fake.reply(
    begin({ input_tokens: 19, cache_read_input_tokens: 39_000, cache_creation_input_tokens: 7, output_tokens: 1 }),
    text("a"),
    finish("end_turn", { output_tokens: 10, input_tokens: null, output_tokens_details: { thinking_tokens: 4 } }),
  );
  expect((await ask(backendOf(fake))).usage).toEqual({
    input: 39_026,
    cachedInput: 39_000,
    cacheCreation: 7,
    output: 10,
    reasoning: 4,
  });
});

test("H-103: without counts they are an estimate, and say so", async () => {
  const fake = await fakeProvider();
  fake.exactly(
    json({ type: "message_start", message: {} }),
    text("x".repeat(40)),
    json({ type: "message_delta", delta: { stop_reason: "end_turn" } }),
    json({ type: "message_stop" }),
  );
  expect((await ask(backendOf(fake))).usage).toMatchObject({ output: 10, estimated: true });
});

test("a server that does not stream is read too", async () => {
  const fake = await fakeProvider();
  const content = [
    { type: "text", text: "two" },
    { type: "tool_use", id: "t1", name: "shell", input: { command: "ls" } },
  ];
  const body = {
    type: "message",
    role: "assistant",
    content,
    stop_reason: "tool_use",
    usage: { input_tokens: 3, output_tokens: 4 },
  };
  fake.exactly(status(200, { "content-type": "application/json" }), raw(JSON.stringify(body)));
  fake.exactly(status(200), raw('{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'));
  const backend = backendOf(fake);
  const { text: said, calls, usage, done } = await ask(backend);
  expect([said, calls[0]?.args, usage, done?.stop]).toEqual([
    "two",
    '{"command":"ls"}',
    { input: 3, output: 4 },
    "tool_calls",
  ]);
  expect(failure(await ask(backend)).kind).toBe("transient");
});

test("H-108: the context length of the list is taken, else that of all Claude models", async () => {
  const fake = await fakeProvider({ models: [{ id: "claude-opus-5-5", max_input_tokens: 1_000_000 }] });
  expect(await backendOf(fake, "claude-opus-5-5").contextLength()).toBe(1_000_000);
  expect(await backendOf(fake, "claude-sonnet-4-5").contextLength()).toBe(200_000);
  expect(await backendOf(fake, "kimi-k2").contextLength()).toBeUndefined();
});
