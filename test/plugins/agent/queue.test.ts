import { join } from "node:path";
import { expect, test } from "vitest";
import { connect, OWRITE } from "#core/client";
import { postTurn, preTurn } from "#plugins/agent";
import { startAgent } from "./kit.ts";
import { done, hang, say, text } from "./model.ts";

test("H-084: prompts sent while busy run once each, in order", async () => {
  const { fs, A, model, idle } = await startAgent();
  model.replies = [
    [text("…"), { type: "wait", until: new Promise((r) => setTimeout(r, 50)) }, done()],
    say("b"),
    say("c"),
    say("d"),
  ];
  await fs.write(`${A}/prompt`, "A");
  await Promise.all([fs.write(`${A}/fifo`, "B"), fs.write(`${A}/fifo`, "C"), fs.write(`${A}/prompt`, "D")]);
  await idle();
  expect(model.requests.map(({ messages }) => messages.at(-1)?.content)).toEqual(["A", "B", "C", "D"]);
});

test("H-091: two prompts at the same instant are two turns, one after the other", async () => {
  const { fs, A, model, idle } = await startAgent();
  const rounds = 25;
  model.replies = Array.from({ length: 2 * rounds }, (_, i) => say(`answer ${i}`));
  for (let i = 0; i < rounds; i++) {
    await Promise.all([fs.write(`${A}/prompt`, `p${2 * i}`), fs.write(`${A}/prompt`, `p${2 * i + 1}`)]);
    await idle();
  }
  const { messages = [] } = model.requests.at(-1) ?? {};
  const users = messages.filter(({ role }) => role === "user").map(({ content }) => content);
  expect([...users].sort()).toEqual(Array.from({ length: 2 * rounds }, (_, i) => `p${i}`).sort());
  for (const [i, { role }] of messages.slice(1).entries()) expect(role).toBe(i % 2 === 0 ? "user" : "assistant");
});

test("the state is thinking when the write of a prompt returns", async () => {
  const { fs, A, model, idle } = await startAgent();
  for (let i = 0; i < 20; i++) {
    model.replies = [say("x")];
    await idle();
    const before = fs.write(`${A}/prompt`, "go");
    await before;
    // The turn may be over already: then the state has been thinking before.
    expect(model.requests.length === i + 1 || (await fs.read(`${A}/state`)) === "thinking\n").toBe(true);
  }
  await idle();
});

test("blank prompts are ignored; the state stays idle", async () => {
  const { fs, A, model } = await startAgent();
  await fs.write(`${A}/prompt`, " \n\t\n");
  await fs.write(`${A}/fifo`, "");
  expect(await fs.read(`${A}/state`)).toBe("idle\n");
  expect(model.requests).toEqual([]);
});

test("a full queue and a prompt that is too long are refused at the write", async () => {
  const { fs, A, model, until, agent } = await startAgent();
  model.replies = [[hang()]];
  await fs.write(`${A}/prompt`, "busy");
  await until(() => model.requests.length === 1);
  await Promise.all(Array.from({ length: 1000 }, (_, i) => agent().submit(`p${i}`, "test")));
  await expect(fs.write(`${A}/prompt`, "one too many")).rejects.toThrow("prompt: queue is full (1000 prompts)");
  await fs.write(`${A}/queue`, "clear");
  await expect(fs.write(`${A}/prompt`, "x".repeat((1 << 20) + 1))).rejects.toThrow("prompt: longer than its limit");
  expect(await fs.read(`${A}/queue`)).toBe("");
});

test("the texts of the queue have a limit together, and a listing takes the beginning of each", async () => {
  const { fs, A, agent } = await startAgent();
  await fs.rdwr(`${A}/ctl`, "pause");
  const megabyte = "x ".repeat(1 << 19);
  await Promise.all(Array.from({ length: 32 }, () => agent().enqueue(megabyte, "test")));
  for (const file of ["fifo", "prompt", "inject"])
    await expect(fs.write(`${A}/${file}`, "more")).rejects.toThrow(
      "queue is full (limit of its texts: 33554432 bytes)",
    );
  const one = performance.now();
  const rows = (await fs.read(`${A}/queue`)).split("\n").slice(0, -1);
  const listed = performance.now();
  for (let i = 0; i < 4; i++) megabyte.replace(/\s+/g, " ");
  expect(listed - one).toBeLessThan(performance.now() - listed);
  expect(rows.map((row) => row.split("\t")[2])).toEqual(Array(32).fill("x ".repeat(100)));
});

test("the queue is read, reordered, dropped from and popped", async () => {
  const { fs, A, model, until } = await startAgent();
  model.replies = [[hang()]];
  await fs.write(`${A}/prompt`, "busy");
  await until(() => model.requests.length === 1);
  for (const prompt of ["one", "two\nlines", `three ${"x".repeat(300)}`]) await fs.write(`${A}/fifo`, prompt);
  const rows = (await fs.read(`${A}/queue`))
    .trimEnd()
    .split("\n")
    .map((line) => line.split("\t"));
  expect(rows.map(([, , text]) => text?.slice(0, 9))).toEqual(["one", "two lines", "three xxx"]);
  expect(rows[2]?.[2]).toHaveLength(200);
  await fs.write(`${A}/queue`, `up ${rows[2]?.[0]}\n`);
  await fs.write(`${A}/queue`, `drop ${rows[0]?.[0]}`);
  expect(await fs.read(`${A}/fifo`)).toMatch(/^three x/);
  expect(await fs.read(`${A}/fifo`)).toBe("two\nlines");
  expect(await fs.read(`${A}/fifo`)).toBe("");
  await expect(fs.write(`${A}/queue`, "drop nothing")).rejects.toThrow('queue: no prompt "nothing"');
  await expect(fs.write(`${A}/queue`, "shuffle")).rejects.toThrow("queue: write one of: drop ID, clear, up ID");
});

test("a blocked preTurn drops the prompt; its injection follows the prompt", async () => {
  const { fs, A, model, idle } = await startAgent({
    hooks: (api) =>
      api.on(preTurn, (turn) => {
        if (turn.prompt.includes("bad")) return { block: "not today" };
        turn.inject("extra");
        return undefined;
      }),
  });
  model.replies = [say("ok")];
  await fs.write(`${A}/prompt`, "bad one");
  await idle();
  await fs.write(`${A}/prompt`, "good one");
  await idle();
  expect(model.requests.map(({ messages }) => messages.at(-1)?.content)).toEqual(["good one\nextra"]);
  expect(await fs.read(`${A}/chat`)).toContain("user: bad one\n:: prompt dropped: not today\n");
});

test("postTurn gives the next prompt, to a depth of 8; a user's prompt starts anew", async () => {
  const { fs, A, model, idle } = await startAgent({
    hooks: (api) => api.on(postTurn, (end) => end.next(`depth ${end.depth + 1}`)),
  });
  model.replies = Array.from({ length: 9 }, () => say("ok"));
  await fs.write(`${A}/prompt`, "start");
  await idle();
  expect(model.requests).toHaveLength(9);
  expect(model.requests.at(-1)?.messages.at(-1)?.content).toBe("depth 8");
  expect(await fs.read(`${A}/chat`)).toMatch(/:: a hook's next prompt was dropped: turns of hooks are 8 deep\n$/);
});

test("half a prompt never runs, and an event says that it was dropped", async () => {
  const { kernel, fs, dir, A, lines, model, until } = await startAgent();
  const { address } = await kernel.listen({ unix: join(dir, "s") });
  const client = await connect(address);
  const file = await client.open(`${A}/prompt`, OWRITE);
  await file.write("half a pro");
  await client.close();
  const why = "prompt: 10 bytes were dropped: the connection ended before the clunk";
  await until(() => lines.includes(`E session/s1/agent/a1/prompt ${why}`));
  expect(await fs.read(`${A}/state`)).toBe("idle\n");
  expect(model.requests).toEqual([]);
});
