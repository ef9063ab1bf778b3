import { expect, test } from "vitest";
import { postTool, preTool, request } from "#plugins/agent";
import { BackendError } from "#plugins/backends";
import { ok, startAgent, tool } from "./kit.ts";
import { call, calls, done, hang, say, text } from "./model.ts";

test("half of a surrogate pair is sent to no provider, and a pair that came in two pieces is whole", async () => {
  const { fs, A, model, idle } = await startAgent();
  model.replies = [
    [
      text("a \ud83d"),
      text("\ude00 b \ud83d"),
      call("look", '{"q":"\ud83d","r":["\\ud83d","\\ud83d\\ude00"]}', "1"),
      done(),
    ],
    say("c \ude00"),
    say("fine"),
  ];
  await fs.write(`${A}/prompt`, "one");
  await idle();
  await fs.write(`${A}/prompt`, "two");
  await idle();
  const { messages = [] } = model.requests.at(-1) ?? {};
  expect(JSON.stringify(messages)).not.toMatch(/\\ud/);
  expect(messages[2]).toEqual({
    role: "assistant",
    content: "a 😀 b \ufffd",
    toolCalls: [{ id: "1", name: "look", args: { q: "\ufffd", r: ["\ufffd", "😀"] } }],
  });
  expect(messages[4]?.content).toBe("c \ufffd");
});

test("a prompt streams its answer into chat, and the state goes back to idle", async () => {
  const { fs, A, model, idle } = await startAgent();
  model.replies = [[text("Hel"), text("lo."), done()]];
  await fs.write(`${A}/prompt`, "hi\n");
  await idle();
  expect(model.requests[0]?.messages).toEqual([
    { role: "system", content: "You are a test." },
    { role: "user", content: "hi" },
  ]);
  expect(await fs.read(`${A}/log`)).toMatch(
    /^\[\[\[user\]\]\]\nhi\n\[\[\[end\]\]\]\n\[\[\[assistant:resp-\w+\]\]\]\nHello\.\n\[\[\[end\]\]\]\n$/,
  );
  expect(await fs.read(`${A}/chat`)).toBe("user: hi\nassistant: Hello.\n");
  expect(await fs.read(`${A}/prompt`)).toBe("hi");
});

test("a tool is called and its result goes back to the model", async () => {
  const { fs, A, model, idle, ran, cwd } = await startAgent({
    run: (_, { onOutput }) => {
      onOutput?.("line 1\n");
      return ok("line 1\nline 2\n");
    },
  });
  model.replies = [[text("I look."), call("look", { at: "x y" }, "c1"), done("tool_calls")], say("seen")];
  await fs.write(`${A}/prompt`, "look");
  await idle();
  expect(ran).toHaveLength(1);
  expect(ran[0]).toMatchObject({ tool: "look", args: { at: "x y" }, cwd, callId: "c1", timeout: 30_000 });
  expect(model.requests[1]?.messages.slice(2)).toEqual([
    { role: "assistant", content: "I look.", toolCalls: [{ id: "c1", name: "look", args: { at: "x y" } }] },
    { role: "tool", toolCallId: "c1", name: "look", content: "line 1\nline 2\n" },
  ]);
  expect(await fs.read(`${A}/chat`)).toBe(
    'user: look\nassistant: I look.\n-> look({"at":"x y"})\nline 1\nline 2\nassistant: seen\n',
  );
  expect(model.complaints).toEqual([]);
});

test("calls of one reply run as their scopes allow; results go back in call order", async () => {
  let release: (() => void) | undefined;
  const first = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { fs, A, model, idle } = await startAgent({
    run: async ({ args }) => {
      if (args.n === 1) await first;
      else release?.();
      return ok(`result ${args.n}`);
    },
  });
  model.replies = [calls(call("look", { n: 1 }), call("look", { n: 2 })), say("done")];
  await fs.write(`${A}/prompt`, "go");
  await idle();
  const results = model.requests[1]?.messages.filter(({ role }) => role === "tool").map(({ content }) => content);
  expect(results).toEqual(["result 1", "result 2"]);
  expect(await fs.read(`${A}/chat`)).toContain('-> look({"n":2})\nresult 1\nresult 2\nassistant: done\n');
});

test("H-004: calls with no arguments run once with {}", async () => {
  const { fs, A, model, idle, ran } = await startAgent();
  model.replies = [calls(call("look", ""), call("look", "  \n"), call("look", "null"), call("look", "{}")), say("ok")];
  await fs.write(`${A}/prompt`, "go");
  await idle();
  expect(ran.map(({ args }) => args)).toEqual([{}, {}, {}, {}]);
  expect(model.complaints).toEqual([]);
});

test("H-005: broken argument JSON is an error for the model, and the tool does not run", async () => {
  const { fs, A, model, idle, ran } = await startAgent();
  const broken = '{"command":"touch ran",}<|endoftext|>';
  model.replies = [
    calls(call("shell", broken), call("shell", "[1]"), call("shell", '{"n":1180591620717411303424}')),
    say("ok"),
  ];
  await fs.write(`${A}/prompt`, "go");
  await idle();
  expect(ran).toEqual([]);
  const results = model.requests[1]?.messages.filter(({ role }) => role === "tool").map(({ content }) => content) ?? [];
  expect(results[0]).toMatch(/^error: shell: not run: arguments are no JSON \(.*\): ".*touch ran.*endoftext/);
  expect(results[1]).toContain("must be a JSON object, not an array");
  expect(results[2]).toContain("the number 1180591620717411303424");
  expect(model.complaints).toEqual([]);
});

test("H-006: complete calls run, whatever the finish reason says", async () => {
  const { fs, A, model, idle, ran } = await startAgent();
  model.replies = [
    [text("let me look"), call("look", { n: 1 }), call("look", { n: 2 }), done("stop")],
    [call("look", { n: 3 }), done("other", "weird")],
    [call("look", { n: 4 }), done("other")],
    say("ok"),
  ];
  await fs.write(`${A}/prompt`, "go");
  await idle();
  expect(ran).toHaveLength(4);
  expect(await fs.read(`${A}/chat`)).toMatch(/assistant: ok\n$/);
});

test("H-007: a reply with neither text nor calls ends the turn with an error and is not stored", async () => {
  const { fs, A, model, idle, lines, until } = await startAgent();
  model.replies = [[done("tool_calls")], say("fine")];
  await fs.write(`${A}/prompt`, "x");
  await idle();
  expect(model.requests).toHaveLength(1);
  expect(await fs.read(`${A}/chat`)).toBe(
    "user: x\nerror: the model gave an empty reply (finish reason: tool_calls)\n",
  );
  await until(() => lines.some((line) => line.startsWith("E session/s1/agent/a1 the model gave an empty reply")));
  await fs.write(`${A}/prompt`, "y");
  await idle();
  expect(model.requests[1]?.messages.map(({ role }) => role)).toEqual(["system", "user", "user"]);
  expect(model.complaints).toEqual([]);
});

test("H-011: a call that the output limit cut off is not run", async () => {
  const { fs, A, model, idle, ran } = await startAgent();
  const cut = { ...call("touch", { path: "f.txt" }), cut: true as const };
  model.replies = [
    [call("touch", '{"path":"f.txt","content":"one\\ntwo'), done("length")],
    [call("touch", { path: "f.txt" }), done("length")],
    [cut as never, done("content_filter")],
    say("ok"),
  ];
  await fs.write(`${A}/prompt`, "go");
  await idle();
  expect(ran).toEqual([]);
  for (const { messages } of model.requests.slice(1))
    expect(messages.at(-1)?.content).toMatch(/touch: not run: the output limit cut this call off/);
});

test("H-023: a tool that prints nothing has a result", async () => {
  const { fs, A, model, idle } = await startAgent({ run: () => ok(" \n") });
  model.replies = [calls(call("look")), say("done")];
  await fs.write(`${A}/prompt`, "go");
  await idle();
  expect(model.requests[1]?.messages.at(-1)).toMatchObject({ role: "tool", content: "(no output)" });
});

test("unknown, unloaded, disallowed and nameless tools are errors for the model", async () => {
  const { fs, A, model, idle, ran } = await startAgent({
    tools: [tool("look"), tool("spare"), tool("banned")],
    config: { autoLoad: ["look"], disallowTools: ["banned"] },
  });
  model.replies = [
    calls(call("nope"), call("spare"), call("banned"), call(""), call(` a.${"é".repeat(99)}`)),
    say("ok"),
  ];
  await fs.write(`${A}/prompt`, "go");
  await idle();
  expect(ran).toEqual([]);
  expect(model.requests[1]?.messages.filter(({ role }) => role === "tool").map(({ content }) => content)).toEqual([
    "error: nope: unknown tool (loaded tools: look)",
    "error: spare: tool is not loaded (loaded tools: look)",
    "error: banned: tool is not allowed by the agent's config (loaded tools: look)",
    "error: the call names no tool (loaded tools: look)",
    `error: a${"_".repeat(63)}: unknown tool (loaded tools: look)`,
  ]);
  expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(["look"]);
  expect(model.complaints).toEqual([]);
});

test("call ids that a model uses twice are made unique", async () => {
  const { fs, A, model, idle, ran } = await startAgent();
  model.replies = [
    calls(call("look", { n: 1 }, "x"), call("look", { n: 2 }, "x"), call("look", { n: 3 }, "")),
    calls(call("look", { n: 4 }, "x")),
    say("ok"),
  ];
  await fs.write(`${A}/prompt`, "go");
  await idle();
  expect(new Set(ran.map(({ callId }) => callId)).size).toBe(4);
  expect(model.complaints).toEqual([]);
});

test("a long result is cut at a line, and the sizes are said", async () => {
  const page = Array.from({ length: 100 }, (_, i) => `line ${i} é`).join("\n");
  const { fs, A, model, idle } = await startAgent({ agent: { resultBytes: 100 }, run: () => ok(page) });
  model.replies = [calls(call("look")), say("ok")];
  await fs.write(`${A}/prompt`, "go");
  await idle();
  const result = model.requests[1]?.messages.at(-1)?.content ?? "";
  expect(result).toMatch(
    /^line 0 é\n[^�]*line 9 é\n\(cut: the first 100 of 1089 bytes; ask for less at once to see the rest\)$/s,
  );
});

test("H-050: a result of 64 KiB is sent whole, a longer one is cut there", async () => {
  const sizes = [64 * 1024, 5_000_000];
  const { fs, A, model, idle } = await startAgent({ run: ({ args }) => ok("x".repeat(sizes[Number(args.n)] ?? 0)) });
  model.window = 128_000;
  model.replies = [calls(call("look", { n: 0 }), call("look", { n: 1 })), say("ok")];
  await fs.write(`${A}/prompt`, "go");
  await idle();
  const [whole, cut] = model.requests[1]?.messages.filter(({ role }) => role === "tool") ?? [];
  expect(whole?.content).toHaveLength(64 * 1024);
  expect(cut?.content).toMatch(/^x{65536}\n\(cut: the first 65536 of 5000000 bytes; /);
});

test("H-010: a call that was text and can not be read is told to the model, and the turn goes on", async () => {
  const { fs, A, model, idle, ran } = await startAgent();
  const broken = { ...call("look", '<tool_call>{"name":"look",'), extra: { textForm: "broken" } } as never;
  model.replies = [[broken, done("tool_calls")], say("now properly")];
  await fs.write(`${A}/prompt`, "go");
  await idle();
  expect(ran).toEqual([]);
  expect(model.requests[1]?.messages.at(-1)?.content).toMatch(/^error: look: not run: arguments are no JSON/);
  expect(await fs.read(`${A}/chat`)).toMatch(/assistant: now properly\n$/);
});

test("H-014: a retried reply never runs a call again that ran, and none of a reply that broke", async () => {
  const { fs, A, model, idle, ran } = await startAgent();
  const broke = () => new BackendError("transient", "overloaded");
  model.replies = [
    calls(call("touch", { n: 1 })),
    [call("touch", { n: 2 }), broke()],
    [text("Hel"), call("touch", { n: 2 }), broke()],
    calls(call("touch", { n: 2 })),
    say("done"),
  ];
  await fs.write(`${A}/prompt`, "go");
  await idle();
  expect(ran.map(({ args }) => args.n)).toEqual([1, 2]);
  const { messages = [] } = model.requests.at(-1) ?? {};
  expect(messages.map(({ content }) => content)).not.toContain("Hel");
  expect(model.complaints).toEqual([]);
});

test("a reply that is complete counts, whatever the stream does after its end", async () => {
  const { fs, A, model, idle, ran } = await startAgent();
  model.replies = [
    [call("touch", { n: 1 }), done("tool_calls"), new BackendError("transient", "reset")],
    [text("done"), done(), hang()],
  ];
  await fs.write(`${A}/prompt`, "go");
  await idle();
  expect(ran).toHaveLength(1);
  expect(model.requests).toHaveLength(2);
  expect(await fs.read(`${A}/chat`)).toMatch(/assistant: done\n$/);
});

test("the request is byte-equal from step to step, up to what is new", async () => {
  const { fs, A, model, idle } = await startAgent();
  const rounds = 12;
  model.replies = [
    ...Array.from({ length: rounds }, (_, n) => calls(call("look", { n }), call("touch", { n }))),
    say("done"),
    say("more"),
  ];
  await fs.write(`${A}/prompt`, "go");
  await idle();
  await fs.write(`${A}/prompt`, "again");
  await idle();
  const sent = model.requests.map(({ messages, tools }) => ({
    head: JSON.stringify(tools),
    body: JSON.stringify(messages),
  }));
  expect(sent).toHaveLength(rounds + 2);
  for (const [i, { head, body }] of sent.entries()) {
    expect(head).toBe(sent[0]?.head);
    if (i > 0) expect(body.startsWith((sent[i - 1]?.body ?? "").slice(0, -1))).toBe(true);
  }
});

test("after maxSteps tool rounds the model answers once more without tools", async () => {
  const { fs, A, model, idle, ran } = await startAgent({ config: { maxSteps: 2 } });
  model.replies = [calls(call("look", { n: 1 })), calls(call("look", { n: 2 })), say("that is all")];
  await fs.write(`${A}/prompt`, "go");
  await idle();
  expect(ran).toHaveLength(2);
  expect(model.requests[2]?.tools).toEqual([]);
  expect(await fs.read(`${A}/chat`)).toMatch(/:: step limit reached \(2\)\nassistant: that is all\n$/);
});

test("H-101: odd arguments and results are carried or refused, and nothing blocks", async () => {
  const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
  const outputs = [deep, "\ud800", "a\u0000b", "x".repeat(10_000_000), "[[[end]]]"];
  const { fs, A, model, idle, until, lines } = await startAgent({
    run: ({ args }) => ok(outputs[Number(args.n)] as string),
  });
  model.replies = [
    calls(call("look", `{"a":${deep}}`), call("look", '{"a":"\\ud800"}'), call("look", '{"a":"\\u0000"}')),
    calls(...outputs.map((_, n) => call("look", { n }))),
    say("ok"),
  ];
  await fs.write(`${A}/prompt`, "go");
  await idle();
  expect(model.requests[1]?.messages.at(-3)?.content).toContain("nested deeper than 200 levels");
  expect(model.complaints).toEqual([]);
  expect(await fs.read(`${A}/log`)).toMatch(/assistant:resp-\w+\]\]\]\nok\n\[\[\[end\]\]\]\n$/);
  await until(() => lines.at(-1) === "A state session/s1/agent/a1 idle");
});

test("what the model thinks aloud does not stand in chat", async () => {
  const { fs, A, model, idle, chat } = await startAgent({ tools: [tool("reasoning_think"), tool("look")] });
  model.replies = [
    [{ type: "reasoning", text: "hm" }, text("so"), { type: "reasoning", text: "hmm" }, text("me"), done()],
    calls(call("reasoning_think", { thought: "x" }), call("look")),
    say("ok"),
  ];
  await fs.write(`${A}/prompt`, "one");
  await idle();
  await fs.write(`${A}/prompt`, "two");
  await idle();
  expect(await chat()).toBe("user: one\nassistant: some\nuser: two\n-> look({})\nlook did {}\nassistant: ok\n");
  expect(model.requests[2]?.messages.filter(({ role }) => role === "tool")).toHaveLength(2);
});

test("hooks: a block is the result, postTool changes it, request changes what is sent", async () => {
  const { fs, A, model, idle, ran } = await startAgent({
    hooks(api) {
      api.on(preTool, (draft) => (draft.name === "shell" ? { block: "no shells here" } : undefined));
      api.on(postTool, (result) => ({ ...result, content: `${result.content}!` }));
      api.on(request, (messages) => [...messages, { role: "user" as const, content: "(a reminder)" }]);
    },
  });
  model.replies = [calls(call("shell"), call("look")), say("ok")];
  await fs.write(`${A}/prompt`, "go");
  await idle();
  expect(ran.map(({ tool }) => tool)).toEqual(["look"]);
  const sent = model.requests[1]?.messages ?? [];
  expect(sent.slice(-3).map(({ content }) => content)).toEqual([
    "error: no shells here",
    "look did {}!",
    "(a reminder)",
  ]);
});
