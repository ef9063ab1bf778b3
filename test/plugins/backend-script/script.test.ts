/** Scenarios: which reply fits, what it plays, what is refused. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { scriptBackend } from "../../../plugins/backend-script/factory.ts";
import type { Backend, Message, StreamEvent, ToolSchema } from "../../../plugins/backends/types.ts";

const make = async (scenario: object, env: Record<string, string> = {}) =>
  scriptBackend({ scenario, env }).create({}) as Promise<Backend>;
const user = (content: string): Message => ({ role: "user", content });
const calls = (...names: string[]): Message => ({
  role: "assistant",
  content: "",
  toolCalls: names.map((name, n) => ({ id: `c${n}`, name, args: {} })),
});
const result = (name: string, content: string): Message => ({ role: "tool", toolCallId: "c", name, content });
const tool = (name: string): ToolSchema => ({ name, description: name, parameters: { type: "object" } });

async function ask(
  backend: Backend,
  messages: Message[] = [user("hi")],
  tools: ToolSchema[] = [],
  signal: AbortSignal = new AbortController().signal,
): Promise<StreamEvent[]> {
  const events: StreamEvent[] = [];
  for await (const event of backend.chatStream(messages, tools, {}, signal)) events.push(event);
  return events;
}
const textOf = (events: StreamEvent[]) => events.map((event) => (event.type === "text" ? event.text : "")).join("");

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "ollie-script-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test("replies are used in order, and then no more", async () => {
  const backend = await make({
    replies: ["one", { steps: [{ text: "two" }] }, { repeat: 2, steps: [{ text: "three" }] }],
  });
  const said: string[] = [];
  for (let n = 0; n < 4; n++) said.push(textOf(await ask(backend)));
  expect(said).toEqual(["one", "two", "three", "three"]);
  await expect(ask(backend)).rejects.toMatchObject({
    kind: "badRequest",
    message: 'script: no reply of the scenario fits or is left (prompt "hi", 0 tool results)',
  });
});

test("each agent has its own place, unless the scenario is shared", async () => {
  for (const shared of [false, true]) {
    const factory = scriptBackend({ scenario: { shared, replies: ["one", "two"] }, env: {} });
    const [a, b] = (await Promise.all([factory.create({}), factory.create({})])) as [Backend, Backend];
    const said = await Promise.all([ask(a), ask(b)]);
    expect(said.map(textOf).sort()).toEqual(shared ? ["one", "two"] : ["one", "one"]);
  }
});

test("every kind of step gives its event, in order", async () => {
  const backend = await make({
    replies: [
      {
        steps: [
          { reasoning: "hm" },
          { block: { text: "hm", signature: "s" } },
          { text: "abcdef", chunk: 4 },
          { call: { name: "shell", args: { command: "ls" }, id: "c1" } },
          { call: { name: "shell", args: '{"command":', id: "c2", cut: true } },
          { delay: 1 },
          { usage: { input: 5, output: 6, cachedInput: 1 } },
          { end: "length" },
          { text: "never said" },
        ],
      },
    ],
  });
  expect(await ask(backend)).toEqual([
    { type: "reasoning", text: "hm" },
    { type: "reasoning-block", block: { provider: "script", text: "hm", signature: "s" } },
    { type: "text", text: "abcd" },
    { type: "text", text: "ef" },
    { type: "call", id: "c1", name: "shell", args: '{"command":"ls"}' },
    { type: "call", id: "c2", name: "shell", args: '{"command":', cut: true },
    { type: "usage", usage: { input: 5, output: 6, cachedInput: 1 } },
    { type: "done", stop: "length" },
  ]);
});

test("without a usage step the usage is an estimate; the end follows from the calls", async () => {
  const backend = await make({ replies: [{ steps: [{ call: { name: "now" } }] }, "12345678"] });
  const first = await ask(backend);
  expect(first[0]).toMatchObject({ type: "call", name: "now", args: "{}" });
  expect(first.at(-1)).toEqual({ type: "done", stop: "tool_calls" });
  const second = await ask(backend);
  expect(second.at(-2)).toMatchObject({ type: "usage", usage: { output: 2, estimated: true } });
  expect(second.at(-1)).toEqual({ type: "done", stop: "stop" });
});

test("ids are minted anew for each call", async () => {
  const backend = await make({ replies: [{ repeat: "always", steps: [{ call: { name: "now" } }] }] });
  const id = (events: StreamEvent[]) => events.find((event) => event.type === "call")?.id;
  expect(id(await ask(backend))).not.toBe(id(await ask(backend)));
});

test("text is never cut inside of a character", async () => {
  const backend = await make({ chunk: 1, replies: ["é🌍"] });
  expect((await ask(backend)).flatMap((event) => (event.type === "text" ? [event.text] : []))).toEqual(["é", "🌍"]);
});

test("an error is thrown with all that it says, after what came before it", async () => {
  const error = { kind: "rateLimit", message: "wait", retryAfterMs: 3000, status: 429 };
  const backend = await make({ replies: [{ steps: [{ text: "Hel" }, { error }] }, "Hello"] });
  await expect(ask(backend)).rejects.toMatchObject(error);
  expect(textOf(await ask(backend))).toBe("Hello");
});

test("drop ends the stream without an end mark", async () => {
  const backend = await make({ replies: [{ steps: [{ text: "I will" }, { drop: true }] }] });
  expect(await ask(backend)).toEqual([{ type: "text", text: "I will" }]);
});

test.each([
  ["hang", { hang: true }],
  ["delay", { delay: 600_000 }],
  ["every", { text: "abc", chunk: 1, every: 600_000 }],
])("%s ends with the signal's reason", async (_, step) => {
  const backend = await make({ replies: [{ steps: [step] }] });
  const stop = new AbortController();
  const reason = new Error("stopped");
  setTimeout(() => stop.abort(reason), 20);
  await expect(ask(backend, undefined, undefined, stop.signal)).rejects.toBe(reason);
});

test("rules: the first reply that fits, by prompt, result, tool and offer", async () => {
  const backend = await make({
    replies: [
      {
        when: { prompt: "^run: (?<what>.+)", offers: "shell" },
        repeat: "always",
        steps: [{ text: "run {{match.1}} {{match.what}}" }],
      },
      { when: { prompt: "deploy", result: "ok" }, repeat: "always", steps: [{ text: "deployed after {{result}}" }] },
      { when: { tool: "file_read" }, repeat: "always", steps: [{ text: "read {{match.0}}|" }] },
      { when: { result: "exit (\\d+)" }, repeat: "always", steps: [{ text: "{{tool}} failed with {{match.1}}" }] },
      { repeat: "always", steps: [{ text: "else" }] },
    ],
  });
  const say = async (messages: Message[], ...tools: string[]) => textOf(await ask(backend, messages, tools.map(tool)));
  expect(await say([user("run: a\nb")], "shell")).toBe("run a\nb a\nb");
  expect(await say([user("run: a")])).toBe("else");
  expect(await say([user("run: a"), calls("shell"), result("shell", "x")], "shell")).toBe("else");
  expect(await say([user("deploy"), calls("shell"), result("shell", "ok")])).toBe("deployed after ok");
  expect(await say([user("x"), calls("file_read"), result("file_read", "text")])).toBe("read |");
  expect(await say([user("x"), calls("shell"), result("shell", "exit 3")])).toBe("shell failed with 3");
  expect(await say([user("x"), calls("shell"), result("shell", "exit 3"), calls(), user("y")])).toBe("else");
});

test("templates fill texts, arguments and errors; what is missing becomes nothing", async () => {
  const all = "{{prompt}}|{{ result }}|{{result.0}}|{{result.9}}|{{tool}}|{{tools}}|{{model}}|{{nonsense}}|{{match.1}}";
  const backend = await make({
    model: "demo",
    chunk: 1000,
    replies: [
      {
        steps: [{ text: all }, { call: { name: "t", args: { list: ["{{result.0}}", 7, null], "{{prompt}}": true } } }],
      },
    ],
  });
  const messages = [user("do it"), calls("a", "b"), result("a", "first $& \\"), result("b", "second")];
  const events = await ask(backend, messages, [tool("a"), tool("b")]);
  expect(textOf(events)).toBe("do it|second|first $& \\||b|a b|demo||");
  const call = events.find((event) => event.type === "call");
  expect(JSON.parse(call?.args ?? "")).toEqual({ list: ["first $& \\", 7, null], "{{prompt}}": true });
});

test.each<[string, object, string]>([
  ["an unknown key", { replis: [] }, 'scenario: unknown key "replis"'],
  ["an unknown step", { replies: [{ steps: [{ txt: "a" }] }] }, 'scenario: replies.0.steps.0: unknown key "txt"'],
  [
    "two things in a step",
    { replies: [{ steps: [{ text: "a", delay: 1 }] }] },
    "scenario: replies.0.steps.0: does one thing, this one text and delay",
  ],
  ["an empty step", { replies: [{ steps: [{}] }] }, "scenario: replies.0.steps.0: does one thing, this one nothing"],
  [
    "a stray chunk",
    { replies: [{ steps: [{ delay: 1, chunk: 3 }] }] },
    "scenario: replies.0.steps.0: chunk and every belong to text or reasoning",
  ],
  [
    "a broken pattern",
    { replies: [{ when: { prompt: "(" }, steps: [] }] },
    "scenario: replies.0.when.prompt: is not a regular expression",
  ],
  [
    "a wrong kind",
    { replies: [{ steps: [{ error: { kind: "x", message: "" } }] }] },
    "scenario: replies.0.steps.0.error.kind: invalid option",
  ],
])("%s is refused with its place", async (_, scenario, message) => {
  await expect(make(scenario)).rejects.toThrow(message);
});

test("a scenario comes from YAML or JSON; OLLIE_SCRIPT wins over the config", async () => {
  const yaml = join(folder, "s.yaml");
  const json = join(folder, "s.json");
  await writeFile(yaml, "model: demo\ncontextLength: 1000\nmodels: [b, a]\nreplies:\n  - hello from YAML\n");
  await writeFile(json, '{"replies":["hello from JSON"]}');
  const factory = scriptBackend({ scenario: json, env: { OLLIE_SCRIPT: yaml } });
  const backend = (await factory.create({})) as Backend;
  expect([backend.model, await backend.contextLength(), await backend.models()]).toEqual(["demo", 1000, ["a", "b"]]);
  expect(textOf(await ask(backend))).toBe("hello from YAML");
  expect(await factory.available()).toEqual({ ok: true, why: `replies from ${yaml}` });
  expect(textOf(await ask((await scriptBackend({ scenario: json, env: {} }).create({})) as Backend))).toBe(
    "hello from JSON",
  );
});

test("a file that is missing or broken is one sentence", async () => {
  const none = join(folder, "none.yaml");
  const load = (env: Record<string, string>) => scriptBackend({ env }).create({});
  await expect(load({ OLLIE_SCRIPT: none })).rejects.toThrow(`scenario ${none}: file not found`);
  const bad = join(folder, "bad.json");
  await writeFile(bad, "{");
  await expect(load({ OLLIE_SCRIPT: bad })).rejects.toThrow(`scenario ${bad}: `);
});

test("a prompt behind the results of a stopped turn is a fresh one", async () => {
  const backend = await make({
    replies: [
      { when: { prompt: "read", result: "" }, repeat: "always", steps: [{ text: "{{result}}" }] },
      { when: { prompt: "read" }, repeat: "always", steps: [{ text: "fresh" }] },
    ],
  });
  const stopped = [user("run"), calls("shell"), result("shell", "cancelled")];
  expect(textOf(await ask(backend, [...stopped, user("read")]))).toBe("fresh");
});

test("a model that the scenario does not have is refused in one sentence", async () => {
  const factory = scriptBackend({ scenario: { models: ["small", "large"], replies: [] }, env: {} });
  expect(await factory.refuses?.("zzz")).toBe('script: unknown model "zzz" (models: large small)');
  expect(await factory.refuses?.("small")).toBeUndefined();
  expect(await scriptBackend({ env: {} }).refuses?.("zzz")).toBe('script: unknown model "zzz" (models: offline)');
});
