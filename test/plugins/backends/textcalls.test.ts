/** Calls that models write as text. */
import { expect, test } from "vitest";
import { withTextCalls } from "../../../plugins/backends/textcalls.ts";
import type { Message, StreamEvent, ToolSchema } from "../../../plugins/backends/types.ts";

const tools: ToolSchema[] = [
  {
    name: "file_read",
    description: "reads",
    parameters: { type: "object", properties: { path: { type: "string" }, lines: { type: "integer" } } },
  },
  { name: "shell", description: "runs", parameters: { type: "object", properties: { command: { type: "string" } } } },
];
const user: Message = { role: "user", content: "read a" };
const json = '{"name":"file_read","arguments":{"path":"a"}}';

async function run(
  text: string,
  options: { size?: number; messages?: Message[]; tools?: ToolSchema[]; extra?: StreamEvent[]; stop?: "length" } = {},
) {
  const size = options.size ?? 7;
  async function* events(): AsyncGenerator<StreamEvent> {
    for (let at = 0; at < text.length; at += size) yield { type: "text", text: text.slice(at, at + size) };
    yield* options.extra ?? [];
    yield { type: "done", stop: options.stop ?? "stop" };
  }
  const all: StreamEvent[] = [];
  for await (const event of withTextCalls(events(), options.tools ?? tools, options.messages ?? [user]))
    all.push(event);
  return {
    text: all.flatMap((event) => (event.type === "text" ? [event.text] : [])).join(""),
    calls: all.flatMap((event) => (event.type === "call" ? [event] : [])),
    done: all.at(-1),
  };
}

const read = { name: "file_read", args: '{"path":"a"}' };

test.each<[string, string]>([
  ["in a tag", `<tool_call>${json}</tool_call>`],
  ["in a tag over lines", `<tool_call>\n${json}\n</tool_call>\n`],
  ["in a tag that is not closed", `<tool_call>\n${json}\n`],
  ["as a function tag", "<function=file_read>\n<parameter=path>\na\n</parameter>\n</function>"],
  [
    "as a function tag in a tag",
    "<tool_call>\n<function=file_read>\n<parameter=path>a</parameter>\n</function>\n</tool_call>",
  ],
  ["in a list with a mark", `[TOOL_CALLS][${json}]`],
  ["in a fence", `\`\`\`json\n${json}\n\`\`\`\n`],
  ["in a bare fence", `\`\`\`\n${json}\n\`\`\``],
  ["as JSON", json],
  ["as JSON over lines", JSON.stringify(JSON.parse(json), null, 2)],
  ["as JSON with parameters", '{"name": "file_read", "parameters": {"path": "a"}}'],
  ["in the wire's own form", '{"type":"function","function":{"name":"file_read","arguments":"{\\"path\\":\\"a\\"}"}}'],
  ["spoken with brackets", 'file_read({"path":"a"})'],
  ["spoken with a colon", 'file_read: {"path":"a"}'],
])("H-010: a call %s is a call, however it is cut", async (_, text) => {
  for (const size of [1, 2, 7, 1000]) {
    const { text: left, calls, done } = await run(`I look.\n${text}`, { size });
    expect(left).toBe("I look.\n");
    expect(calls).toMatchObject([{ ...read, args: expect.any(String) }]);
    expect(JSON.parse(calls[0]?.args ?? "")).toEqual({ path: "a" });
    expect(calls[0]?.cut).toBeUndefined();
    expect(done).toMatchObject({ type: "done", stop: "tool_calls" });
  }
});

test("H-010: several calls, ids of their own, in order", async () => {
  const two = `<tool_call>${json}</tool_call>\n<tool_call>${json.replace('"a"', '"b"')}</tool_call>`;
  const { calls } = await run(two);
  expect(calls.map(({ args }) => args)).toEqual(['{"path":"a"}', '{"path":"b"}']);
  expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
});

test("values of a function tag have the type of the schema", async () => {
  const { calls } = await run(
    "<function=file_read><parameter=path>12</parameter><parameter=lines>12</parameter></function>",
  );
  expect(JSON.parse(calls[0]?.args ?? "")).toEqual({ path: "12", lines: 12 });
});

test("an end tag inside of an argument does not end the call", async () => {
  const args = { command: "echo '</tool_call>'" };
  const { calls } = await run(`<tool_call>${JSON.stringify({ name: "shell", arguments: args })}</tool_call>`);
  expect(JSON.parse(calls[0]?.args ?? "")).toEqual(args);
});

test.each<[string, string]>([
  ["an unknown tool", '<tool_call>{"name":"rm","arguments":{}}</tool_call>'],
  ["a call in mid line", `use <tool_call>${json}</tool_call>`],
  ["a mention", "shell: runs commands\nfile_read: reads files\n"],
  ["a mention at the end", "I used shell: it works"],
  ["code of another language", `\`\`\`python\n${json}\n\`\`\`\nand so on`],
  ["JSON of something else", '{"name":"ollie","version":"1"}\n'],
  ["a fence of something else", '```json\n{"version": 1}\n```\nthat is all'],
  ["JSON that goes on", `${json} is what I would send`],
  ["blank lines", "a\n\n\nb"],
])("%s stays text", async (_, text) => {
  for (const size of [1, 3, 1000]) {
    const outcome = await run(text, { size });
    expect(outcome.text).toBe(text);
    expect(outcome.calls).toEqual([]);
    expect(outcome.done).toEqual({ type: "done", stop: "stop" });
  }
});

test.each<[string, string]>([
  ["JSON that does not parse", '<tool_call>{"name":"file_read","arguments":{"path":a}}</tool_call>'],
  ["a function tag that breaks off", "<function=file_read>\n<parameter=path>a"],
  ["arguments in brackets", 'file_read(path="a")'],
])("H-010: %s is given to the loop as it stands, once in a turn", async (_, text) => {
  const first = await run(text);
  expect(first.calls).toMatchObject([{ name: "file_read", args: text }]);
  expect(() => JSON.parse(first.calls[0]?.args ?? "")).toThrow();
  const { id, name, extra } = first.calls[0] as NonNullable<(typeof first.calls)[0]>;
  const told: Message[] = [
    user,
    { role: "assistant", content: "", toolCalls: [{ id, name, args: {}, ...(extra ? { extra } : {}) }] },
    { role: "tool", toolCallId: id, name, content: "error: no JSON", isError: true },
  ];
  expect(await run(text, { messages: told })).toMatchObject({ text, calls: [] });
  expect((await run(text, { messages: [...told, { role: "assistant", content: "x" }, user] })).calls).toHaveLength(1);
});

test("a reply with structured calls keeps its text", async () => {
  const call: StreamEvent = { type: "call", id: "c", name: "shell", args: "{}" };
  const text = `<tool_call>${json}</tool_call>`;
  expect(await run(text, { extra: [call] })).toMatchObject({ text, calls: [call] });
});

test("a call in a reply that the output limit cut does not run", async () => {
  expect((await run(json, { stop: "length" })).calls).toMatchObject([{ ...read, cut: true }]);
});

test("text is given out as it comes where it can be no call", async () => {
  const given: string[] = [];
  async function* events(): AsyncGenerator<StreamEvent> {
    for (const text of ["Hello", ", wor", "ld.\n", "\nThe", " end"]) {
      yield { type: "text", text };
      given.push("|");
    }
    yield { type: "done", stop: "stop" };
  }
  for await (const event of withTextCalls(events(), tools, [])) if (event.type === "text") given.push(event.text);
  expect(given.join("")).toBe("Hello|, wor|ld.\n|\nThe| end|");
});
