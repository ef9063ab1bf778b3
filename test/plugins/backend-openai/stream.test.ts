/** The stream: framing, errors in it, ends of it, limits on it. */
import { expect, test } from "vitest";
import {
  call,
  crlf,
  delta,
  eof,
  finish,
  json,
  raw,
  reasoning,
  reset,
  stall,
  status,
  text,
  usage,
  wait,
} from "../../fakes/openai.ts";
import { ask, backendOf, failure, fakeProvider } from "./helpers.ts";

const piece = (content: string) => JSON.stringify({ choices: [{ index: 0, delta: { content } }] });
const stop = JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
const half = (content: string) => {
  const body = piece(content);
  const at = body.indexOf(",") + 1; // a line end between two members is white space to JSON
  return [body.slice(0, at), body.slice(at)] as const;
};

test.each<[string, string[]]>([
  ["CRLF line ends", [`data: ${piece("héllo")}\r\n\r\ndata: ${stop}\r\n\r\ndata: [DONE]\r\n\r\n`]],
  ["CR line ends", [`data: ${piece("héllo")}\r\rdata: ${stop}\r\rdata: [DONE]\r\r`]],
  ["no space behind data:", [`data:${piece("héllo")}\n\ndata:${stop}\n\ndata:[DONE]\n\n`]],
  ["a comment", [`: working\n\ndata: ${piece("hé")}\n: still\n\ndata: ${piece("llo")}\n\ndata: ${stop}\n\n`]],
  ["an event line", [`event: message\ndata: ${piece("héllo")}\n\nevent: x\ndata: ${stop}\n\ndata: [DONE]\n\n`]],
  ["one event over two data lines", [`data: ${half("héllo")[0]}\ndata: ${half("héllo")[1]}\n\ndata: ${stop}\n\n`]],
  [
    "a cut between CR and LF",
    [`data: ${piece("hé")}\r`, `\n\r`, `\ndata: ${piece("llo")}\r\n\r\ndata: ${stop}\r\n\r\n`],
  ],
  ["a last event without the blank line", [`data: ${piece("héllo")}\n\ndata: ${stop}`]],
  ["a byte order mark", [`\uFEFFdata: ${piece("héllo")}\n\ndata: ${stop}\n\n`]],
  ["blank lines in front", ["\n\n", `data: ${piece("héllo")}\n\ndata: ${stop}\n\n`]],
])("H-003: %s", async (_, writes) => {
  const fake = await fakeProvider();
  fake.exactly(...writes.flatMap((bytes) => [raw(bytes), wait(5)]));
  const outcome = await ask(backendOf(fake));
  expect(outcome.error).toBeUndefined();
  expect(outcome.text).toBe("héllo");
  expect(outcome.done?.stop).toBe("stop");
});

test("H-003: a whole reply with CRLF", async () => {
  const fake = await fakeProvider();
  fake.reply(crlf(), text("one two"), call("shell", { command: "ls" }));
  const outcome = await ask(backendOf(fake));
  expect(outcome.text).toBe("one two");
  expect(outcome.calls[0]?.args).toBe('{"command":"ls"}');
});

test("events come in order: text, calls, usage, done", async () => {
  const fake = await fakeProvider();
  fake.reply(reasoning("hm"), text("a"), call("shell", {}), usage(7, 3));
  const { events, reasoning: thought } = await ask(backendOf(fake));
  const types = events.map(({ type }) => type).filter((type) => type !== "progress");
  expect(types).toEqual(["reasoning", "text", "call", "usage", "done"]);
  expect(thought).toBe("hm");
});

test.each(["reasoning", "reasoning_content"])("reasoning comes from delta.%s", async (field) => {
  const fake = await fakeProvider();
  fake.reply(reasoning("let me think", field), text("4"));
  const outcome = await ask(backendOf(fake));
  expect([outcome.reasoning, outcome.text]).toEqual(["let me think", "4"]);
});

test("content in parts is read", async () => {
  const fake = await fakeProvider();
  fake.reply(
    delta({
      content: [
        { type: "thinking", thinking: [{ type: "text", text: "hm" }] },
        { type: "text", text: "4" },
      ],
    }),
  );
  const outcome = await ask(backendOf(fake));
  expect([outcome.reasoning, outcome.text]).toEqual(["hm", "4"]);
});

test("H-013: an error chunk with empty choices is a failure of its code, with its words", async () => {
  const fake = await fakeProvider();
  fake.exactly(
    text("a"),
    json({ choices: [], error: { code: 502, message: "upstream limit" } }),
    raw("data: [DONE]\n\n"),
  );
  const outcome = await ask(backendOf(fake));
  expect(failure(outcome)).toMatchObject({ kind: "transient", status: 502, message: "openai: upstream limit" });
  expect(outcome.done).toBeUndefined();
});

test("H-013: finish_reason error is a failure, and its half call is not given out", async () => {
  const fake = await fakeProvider();
  fake.exactly(call("shell", '{"comm'), finish("error"), raw("data: [DONE]\n\n"));
  const outcome = await ask(backendOf(fake));
  expect(failure(outcome).kind).toBe("transient");
  expect(outcome.calls).toEqual([]);
});

test("H-013: an error in the stream that retries can not help is no transient one", async () => {
  const fake = await fakeProvider();
  fake.exactly(json({ error: { code: 400, message: "no such thing" } }));
  fake.exactly(json({ error: { code: "429", message: "slow down, try again in 2.5s" } }));
  fake.exactly(json({ error: { type: "invalid_request_error", message: "bad" } }));
  fake.exactly(json({ error: { code: "insufficient_quota", message: "pay" } }));
  const backend = backendOf(fake);
  expect(failure(await ask(backend)).kind).toBe("badRequest");
  expect(failure(await ask(backend))).toMatchObject({ kind: "rateLimit", retryAfterMs: 2500 });
  expect(failure(await ask(backend)).kind).toBe("badRequest");
  expect(failure(await ask(backend)).kind).toBe("quota");
});

test("H-013: a chunk with empty choices in mid stream is ignored", async () => {
  const fake = await fakeProvider();
  fake.reply(text("one "), json({ choices: [] }), json({}), json({ error: null, choices: [null] }), text("two"));
  const outcome = await ask(backendOf(fake));
  expect(outcome.error).toBeUndefined();
  expect(outcome.text).toBe("one two");
});

test.each([
  ["data", 'data: {"error":{"message":"The server is overloaded","type":"server_error"}}\n\n'],
  ["event", 'event: error\ndata: {"message":"The server is overloaded"}\n\n'],
  [
    "type",
    'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"The server is overloaded"}}\n\n',
  ],
  ["text", 'data: {"error":"The server is overloaded"}\n\n'],
])("H-014: an error inside of a 200 stream (%s) is transient, with the provider's words", async (_, bytes) => {
  const fake = await fakeProvider();
  fake.exactly(text("Hel"), raw(bytes));
  const outcome = await ask(backendOf(fake));
  expect(failure(outcome)).toMatchObject({ kind: "transient", message: "openai: The server is overloaded" });
});

test("H-015: an end without a finish mark is a broken transport", async () => {
  const fake = await fakeProvider();
  fake.exactly(text("I will now"), eof());
  const outcome = await ask(backendOf(fake));
  expect(outcome.text).toBe("I will now");
  expect(failure(outcome)).toMatchObject({
    kind: "transient",
    message: "openai: the stream ended without a finish mark",
  });
});

test("H-015: a connection that is torn down is a broken transport", async () => {
  const fake = await fakeProvider();
  fake.exactly(text("I will now"), wait(20), reset());
  const outcome = await ask(backendOf(fake));
  expect(failure(outcome).kind).toBe("transient");
  expect(outcome.done).toBeUndefined();
});

test("H-015: an end after a finish_reason needs no [DONE]", async () => {
  const fake = await fakeProvider();
  fake.exactly(text("done"), finish("stop"), eof());
  const outcome = await ask(backendOf(fake));
  expect(outcome.error).toBeUndefined();
  expect(outcome.done).toEqual({ type: "done", stop: "stop", raw: "stop" });
});

test("an event that is cut in its JSON is a broken transport", async () => {
  const fake = await fakeProvider();
  fake.exactly(text("ok"), raw('data: {"choices":[{"ind'));
  expect(failure(await ask(backendOf(fake))).kind).toBe("transient");
});

test.each([
  ["length", "length"],
  ["content_filter", "content_filter"],
  ["stop", "stop"],
  ["eos", "stop"],
  ["weird", "other"],
])("finish_reason %s is stop reason %s, and is kept", async (label, reason) => {
  const fake = await fakeProvider();
  fake.reply(text("a"), finish(label));
  expect((await ask(backendOf(fake))).done).toEqual({ type: "done", stop: reason, raw: label });
});

test("H-019: a server that never answers is given up, as transient", async () => {
  const fake = await fakeProvider();
  fake.exactly(stall());
  const outcome = await ask(backendOf(fake, { idle: 100 }));
  expect(failure(outcome)).toMatchObject({ kind: "transient", message: "openai: nothing came for 0.1 s" });
  expect(await fake.requests[0]?.closed).toBe(true);
});

test("H-019: a stream that falls silent is given up, as transient", async () => {
  const fake = await fakeProvider();
  fake.exactly(text("a"), stall());
  const outcome = await ask(backendOf(fake, { idle: 100 }));
  expect(outcome.text).toBe("a");
  expect(failure(outcome).kind).toBe("transient");
  expect(await fake.requests[0]?.closed).toBe(true);
});

test("parts of a call and comments are signs of life", async () => {
  const fake = await fakeProvider();
  fake.reply(raw(": working\n\n"), wait(30), call("shell", { command: "ls" }), wait(30));
  const { events } = await ask(backendOf(fake));
  expect(events[0]).toEqual({ type: "progress" });
  expect(events.filter(({ type }) => type === "progress").length).toBeGreaterThan(1);
});

test("a slow reader is not taken for a silent server", async () => {
  const fake = await fakeProvider();
  fake.reply(text("abcdef", 1));
  const backend = backendOf(fake, { idle: 200 });
  let said = "";
  for await (const event of backend.chatStream(
    [{ role: "user", content: "x" }],
    [],
    {},
    new AbortController().signal,
  )) {
    if (event.type !== "text") continue;
    said += event.text;
    await new Promise((resolve) => setTimeout(resolve, 60));
  }
  expect(said).toBe("abcdef");
});

test.each([
  ["before the first byte", []],
  ["in mid stream", text("a")],
])("an abort %s throws the signal's reason and closes the socket", async (_, parts) => {
  const fake = await fakeProvider();
  fake.exactly(...parts, stall());
  const stop = new AbortController();
  const reason = new Error("stopped by user");
  const pending = ask(backendOf(fake), undefined, { signal: stop.signal });
  const request = await fake.seen(1);
  setTimeout(() => stop.abort(reason), 50);
  expect((await pending).error).toBe(reason);
  expect(await request.closed).toBe(true);
});

test("an abort before the request sends nothing", async () => {
  const fake = await fakeProvider();
  const reason = new Error("too late");
  expect((await ask(backendOf(fake), undefined, { signal: AbortSignal.abort(reason) })).error).toBe(reason);
  expect(fake.requests).toEqual([]);
});

test("leaving the loop closes the socket", async () => {
  const fake = await fakeProvider();
  fake.exactly(text("a"), stall());
  const backend = backendOf(fake);
  for await (const _ of backend.chatStream([{ role: "user", content: "x" }], [], {}, new AbortController().signal))
    break;
  expect(await fake.requests[0]?.closed).toBe(true);
});

test("a server that keeps the stream open behind [DONE] does not hold the reply", async () => {
  const fake = await fakeProvider();
  fake.exactly(text("a"), finish("stop"), raw("data: [DONE]\n\n"), stall());
  const outcome = await ask(backendOf(fake));
  expect(outcome.done?.stop).toBe("stop");
  expect(await fake.requests[0]?.closed).toBe(true);
});

test("a server that does not stream is read too", async () => {
  const fake = await fakeProvider();
  const message = {
    role: "assistant",
    content: "hi",
    tool_calls: [{ id: "c1", function: { name: "now", arguments: "{}" } }],
  };
  const body = {
    choices: [{ index: 0, message, finish_reason: "tool_calls" }],
    usage: { prompt_tokens: 5, completion_tokens: 2 },
  };
  fake.exactly(status(200, { "content-type": "application/json" }), raw(JSON.stringify(body, null, 1)));
  const outcome = await ask(backendOf(fake));
  expect([outcome.text, outcome.calls[0]?.id, outcome.usage?.input]).toEqual(["hi", "c1", 5]);
});

test.each([
  ["HTML", "<!doctype html><html><head><title>Log in</title></head><body>…</body></html>", "Log in"],
  ["an error in JSON", '{"error":{"code":503,"message":"no model is loaded"}}', "no model is loaded"],
  ["other JSON", '{"status":"ok"}', '{"status":"ok"}'],
])("a good status with %s is an error in one line", async (_, body, words) => {
  const fake = await fakeProvider();
  fake.exactly(status(200, { "content-type": "text/event-stream" }), raw(body));
  const error = failure(await ask(backendOf(fake)));
  expect(error.message).toContain(words);
  expect(error.message).not.toContain("\n");
});

test.each([
  ["with empty choices", [usage(39019, 10, { prompt_tokens_details: { cached_tokens: 39000 } })]],
  [
    "without choices",
    [json({ usage: { prompt_tokens: 39019, completion_tokens: 10, prompt_tokens_details: { cached_tokens: 39000 } } })],
  ],
  [
    "inside the finish chunk",
    [
      json({
        choices: [{ index: 0, delta: {}, finish_reason: "stop" }],
        usage: { prompt_tokens: 39019, completion_tokens: 10, prompt_tokens_details: { cached_tokens: 39000 } },
      }),
    ],
  ],
])("H-103: usage %s is exact", async (_, parts) => {
  const fake = await fakeProvider();
  fake.reply(json({ choices: [{ index: 0, delta: { content: "a" } }], usage: null }), ...parts);
  expect((await ask(backendOf(fake))).usage).toEqual({ input: 39019, cachedInput: 39000, output: 10 });
  expect(fake.requests[0]?.body.stream_options).toEqual({ include_usage: true });
});

test("H-103: without usage it is an estimate, and says so", async () => {
  const fake = await fakeProvider();
  fake.exactly(text("x".repeat(40)), finish("stop"), raw("data: [DONE]\n\n"));
  const { usage: estimate } = await ask(backendOf(fake));
  expect(estimate).toMatchObject({ output: 10, estimated: true });
  expect(estimate?.input).toBeGreaterThan(0);
});

test("reasoning tokens and a reported cost are kept", async () => {
  const fake = await fakeProvider();
  fake.reply(text("a"), usage(10, 20, { completion_tokens_details: { reasoning_tokens: 15 }, cost: 0.0012 }));
  expect((await ask(backendOf(fake))).usage).toEqual({ input: 10, output: 20, reasoning: 15, costUSD: 0.0012 });
});
