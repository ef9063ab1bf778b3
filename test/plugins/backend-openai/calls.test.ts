/** Tool calls on the Chat Completions wire. */
import { expect, test } from "vitest";
import { call, delta, eof, finish, oneByte, raw, text, usage } from "../../fakes/openai.ts";
import { ask, backendOf, fakeProvider } from "./helpers.ts";

const bare = (calls: Awaited<ReturnType<typeof ask>>["calls"]) =>
  calls.map(({ id, name, args }) => ({ id, name, args }));
const two = [
  { id: "c1", name: "file_read", args: '{"path":"a"}' },
  { id: "c2", name: "file_read", args: '{"path":"b"}' },
];
const whole = (id: string, path: string, index?: number | null) => ({
  ...(index === undefined ? {} : { index }),
  id,
  type: "function",
  function: { name: "file_read", arguments: JSON.stringify({ path }) },
});

test("H-001: parallel calls without an index in one delta stay apart", async () => {
  const fake = await fakeProvider();
  fake.reply(delta({ tool_calls: [whole("c1", "a"), whole("c2", "b")] }));
  const { calls, done } = await ask(backendOf(fake));
  expect(bare(calls)).toEqual(two);
  expect(done?.stop).toBe("tool_calls");
});

test("H-001: parallel calls without an index in two chunks stay apart", async () => {
  const fake = await fakeProvider();
  fake.reply(delta({ tool_calls: [whole("c1", "a")] }), delta({ tool_calls: [whole("c2", "b")] }));
  expect(bare((await ask(backendOf(fake))).calls)).toEqual(two);
});

test("H-001: fragments without an index belong to the call that began last", async () => {
  const fake = await fakeProvider();
  const options = { index: "none", size: 3 } as const;
  fake.reply(
    call("file_read", { path: "a" }, { ...options, id: "c1" }),
    call("file_read", { path: "b" }, { ...options, id: "c2" }),
  );
  expect(bare((await ask(backendOf(fake))).calls)).toEqual(two);
});

test("calls that are all numbered 0 but have ids of their own stay apart", async () => {
  const fake = await fakeProvider();
  fake.reply(delta({ tool_calls: [whole("c1", "a", 0), whole("c2", "b", 0)] }));
  expect(bare((await ask(backendOf(fake))).calls)).toEqual(two);
});

test("interleaved fragments go where their index says, in the order of the indexes", async () => {
  const fake = await fakeProvider();
  const fragment = (index: number, args: string) => delta({ tool_calls: [{ index, function: { arguments: args } }] });
  const begin = (index: number, id: string) =>
    delta({ tool_calls: [{ index, id, function: { name: "file_read", arguments: "" } }] });
  fake.reply(
    begin(1, "c2"),
    begin(0, "c1"),
    fragment(1, '{"path'),
    fragment(0, '{"pa'),
    fragment(1, '":"b"}'),
    fragment(0, 'th":"a"}'),
  );
  expect(bare((await ask(backendOf(fake))).calls)).toEqual(two);
});

test("a new id in each fragment of one index is still one call", async () => {
  const fake = await fakeProvider();
  fake.reply(
    delta({ tool_calls: [{ index: 0, id: "x1", function: { name: "file_read", arguments: '{"path"' } }] }),
    delta({ tool_calls: [{ index: 0, id: "x2", function: { arguments: ':"a"}' } }] }),
  );
  expect(bare((await ask(backendOf(fake))).calls)).toEqual([{ id: "x1", name: "file_read", args: '{"path":"a"}' }]);
});

test("missing ids are minted, and an id that comes twice is kept once", async () => {
  const fake = await fakeProvider();
  const made = { function: { name: "now", arguments: "{}" } };
  fake.reply(
    delta({
      tool_calls: [{ index: 0, ...made }, { index: 1, id: "", ...made }, whole("c", "a", 2), whole("c", "b", 3)],
    }),
  );
  const ids = (await ask(backendOf(fake))).calls.map(({ id }) => id);
  expect(new Set(ids).size).toBe(4);
  expect(ids[2]).toBe("c");
  expect(ids.every((id) => id !== "")).toBe(true);
});

test.each([
  ["an empty text", ""],
  ["white space", "  "],
  ["null", null],
  ["nothing", undefined],
])("H-004: a call with %s for arguments is one call, its text given through", async (_, args) => {
  const fake = await fakeProvider();
  fake.reply(delta({ tool_calls: [{ index: 0, id: "c1", function: { name: "now", arguments: args } }] }));
  expect(bare((await ask(backendOf(fake))).calls)).toEqual([{ id: "c1", name: "now", args: args ?? "" }]);
});

test("H-005: broken argument text is passed on as it is", async () => {
  const fake = await fakeProvider();
  const broken = '{"command":"touch ran",}<|endoftext|>';
  fake.reply(call("shell", broken, { id: "c1" }));
  const { calls, done } = await ask(backendOf(fake));
  expect(bare(calls)).toEqual([{ id: "c1", name: "shell", args: broken }]);
  expect(calls[0]?.cut).toBeUndefined();
  expect(done?.stop).toBe("tool_calls");
});

test("arguments sent as an object become their text", async () => {
  const fake = await fakeProvider();
  fake.reply(delta({ tool_calls: [{ id: "c1", function: { name: "file_read", arguments: { path: "a" } } }] }));
  expect((await ask(backendOf(fake))).calls[0]?.args).toBe('{"path":"a"}');
});

test.each(["stop", "other", null])("H-006: complete calls count with finish_reason %s", async (label) => {
  const fake = await fakeProvider();
  fake.exactly(
    text("let me look"),
    call("shell", { command: "ls" }),
    finish(label),
    usage(1, 1),
    raw("data: [DONE]\n\n"),
  );
  const { text: said, calls, done } = await ask(backendOf(fake));
  expect(said).toBe("let me look");
  expect(calls).toHaveLength(1);
  expect(done?.stop).toBe("tool_calls");
});

test("H-006: complete calls count with no finish_reason before [DONE]", async () => {
  const fake = await fakeProvider();
  fake.exactly(
    call("shell", { command: "ls" }),
    call("shell", { command: "pwd" }, { index: 1 }),
    raw("data: [DONE]\n\n"),
  );
  const { calls, done } = await ask(backendOf(fake));
  expect(calls).toHaveLength(2);
  expect(done).toEqual({ type: "done", stop: "tool_calls" });
});

test("H-007: a label tool_calls without a call is passed on", async () => {
  const fake = await fakeProvider();
  fake.reply(finish("tool_calls"));
  const { calls, done } = await ask(backendOf(fake));
  expect(calls).toEqual([]);
  expect(done?.stop).toBe("tool_calls");
});

test("H-011: the call in which the output limit hit is marked as cut, even where it parses", async () => {
  const fake = await fakeProvider();
  fake.reply(call("file_write", '{"path":"f.txt","content":"one\\ntwo'), finish("length"));
  fake.reply(call("file_write", '{"path":"f.txt"}'), finish("length"));
  fake.reply(call("now", "{}"), call("file_write", '{"path":"f.txt"}', { index: 1 }), finish("length"));
  const backend = backendOf(fake);
  for (let n = 0; n < 2; n++) {
    const { calls, done } = await ask(backend);
    expect(calls.map(({ cut }) => cut)).toEqual([true]);
    expect(done?.stop).toBe("length");
  }
  expect((await ask(backend)).calls.map(({ cut }) => cut)).toEqual([undefined, true]);
});

test("H-002: text and arguments that arrive one byte at a time are exact", async () => {
  const fake = await fakeProvider();
  fake.reply(oneByte(), text("日本語 🌍"), call("file_write", { path: "u.txt", content: "é🌍" }));
  const { text: said, calls } = await ask(backendOf(fake));
  expect(said).toBe("日本語 🌍");
  expect(calls[0]?.args).toBe('{"path":"u.txt","content":"é🌍"}');
});

test("marks of a call are given out and sent back in place", async () => {
  const fake = await fakeProvider();
  const mark = { google: { thought_signature: "AbC=" } };
  fake.reply(
    delta({ tool_calls: [{ index: 0, id: "c1", function: { name: "now", arguments: "{}" }, extra_content: mark }] }),
  );
  fake.reply(text("ok"));
  const backend = backendOf(fake);
  const { calls } = await ask(backend);
  expect(calls[0]?.extra).toEqual({ extra_content: mark });
  await ask(backend, [
    { role: "user", content: "hello" },
    {
      role: "assistant",
      content: "",
      toolCalls: [{ id: "c1", name: "now", args: {}, extra: { extra_content: mark } }],
    },
    { role: "tool", toolCallId: "c1", name: "now", content: "noon" },
  ]);
  expect(fake.requests[1]?.body.messages[1].tool_calls[0].extra_content).toEqual(mark);
  expect(fake.complaints).toEqual([]);
});

test("H-015: no call comes from a stream that broke inside of its arguments", async () => {
  const fake = await fakeProvider();
  fake.exactly(call("shell", '{"command":"touch ra'), eof());
  const { calls, done, error } = await ask(backendOf(fake));
  expect(calls).toEqual([]);
  expect(done).toBeUndefined();
  expect(error).toMatchObject({ kind: "transient", message: "openai: the stream ended without a finish mark" });
});
