/** The built-in scenario: what a first run without a key sees. */
import { expect, test } from "vitest";
import { scriptBackend } from "../../../plugins/backend-script/factory.ts";
import type { Backend, Message, StreamEvent } from "../../../plugins/backends/types.ts";

const tools = (...names: string[]) =>
  names.map((name) => ({ name, description: name, parameters: { type: "object" } }));

async function turn(messages: Message[], ...offered: string[]) {
  const backend = (await scriptBackend({ env: {} }).create({})) as Backend;
  const events: StreamEvent[] = [];
  for await (const event of backend.chatStream(messages, tools(...offered), {}, new AbortController().signal))
    events.push(event);
  return {
    text: events.map((event) => (event.type === "text" ? event.text : "")).join(""),
    chunks: events.filter((event) => event.type === "text").length,
    calls: events.flatMap((event) => (event.type === "call" ? [[event.name, JSON.parse(event.args)]] : [])),
    usage: events.find((event) => event.type === "usage")?.usage,
  };
}
const prompt = (content: string): Message[] => [{ role: "user", content }];
const answered = (text: string, name: string, content: string): Message[] => [
  { role: "user", content: text },
  { role: "assistant", content: "", toolCalls: [{ id: "c", name, args: {} }] },
  { role: "tool", toolCallId: "c", name, content },
];

test("says what it is, streamed, and runs a real tool", async () => {
  const { text, chunks, calls, usage } = await turn(prompt("fix my bug"), "file_read", "shell");
  expect(text).toContain("offline script");
  expect(text).toContain("not a model");
  expect(chunks).toBeGreaterThan(3);
  expect(calls).toEqual([["shell", { command: "ls -p | head -n 20" }]]);
  expect(usage?.estimated).toBe(true);
});

test("reports what the tool said, and how to get a model", async () => {
  const { text, calls } = await turn(answered("fix my bug", "shell", "a.txt\nb/"), "shell");
  expect(text).toContain("a.txt\nb/");
  expect(text).toContain("OLLIE_OPENAI_KEY");
  expect(calls).toEqual([]);
});

test("takes the tool that is there, and says so where none is", async () => {
  expect((await turn(prompt("x"), "file_glob")).calls).toEqual([["file_glob", { pattern: "*" }]]);
  const none = await turn(prompt("x"));
  expect(none.calls).toEqual([]);
  expect(none.text).toContain("none is loaded");
  expect(none.text).toContain("OLLIE_OPENAI_KEY");
});

test("knows run, read and write", async () => {
  const all = ["shell", "file_read", "file_write"];
  expect((await turn(prompt("run: echo a | wc"), ...all)).calls).toEqual([["shell", { command: "echo a | wc" }]]);
  expect((await turn(prompt(" read: a b.txt\n"), ...all)).calls).toEqual([["file_read", { file_path: "a b.txt" }]]);
  expect((await turn(prompt("write: n.txt two words"), ...all)).calls).toEqual([
    ["file_write", { file_path: "n.txt", content: "two words\n" }],
  ]);
  expect((await turn(answered("run: pwd", "shell", "/tmp"), ...all)).text).toBe("/tmp\n");
});

test("is there for every agent, as often as it is asked", async () => {
  const backend = (await scriptBackend({ env: {} }).create({})) as Backend;
  expect([backend.name, backend.model, await backend.models()]).toEqual(["script", "offline", ["offline"]]);
  for (let n = 0; n < 3; n++) {
    const events: StreamEvent[] = [];
    for await (const event of backend.chatStream(prompt("x"), [], {}, new AbortController().signal)) events.push(event);
    expect(events.at(-1)?.type).toBe("done");
  }
});
