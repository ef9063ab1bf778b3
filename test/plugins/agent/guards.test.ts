import { expect, test } from "vitest";
import { ok, startAgent } from "./kit.ts";
import { call, calls, done, say, text } from "./model.ts";

const failing = () => ({ status: "failed" as const, content: "no such thing" });
/** `n` rounds of one call each, no two equal. */
const rounds = (n: number, more: { plan?: number } = {}) =>
  Array.from({ length: n }, (_, i) => [
    ...(more.plan === i ? [text("PLAN:\n1. look")] : []),
    call("look", { i }),
    done("tool_calls"),
  ]);
const told = (messages: readonly { role: string; content: string }[] = []) =>
  messages.filter(({ role }) => role === "user").map(({ content }) => content);

test("five rounds in which every call failed are told to the model, ten end the turn with an error", async () => {
  const { fs, A, model, idle, lines, until } = await startAgent({ run: failing });
  model.replies = [...rounds(10), say("never")];
  await fs.write(`${A}/prompt`, "go");
  await idle();
  expect(model.requests).toHaveLength(10);
  expect(told(model.requests[4]?.messages)).toEqual(["go"]);
  expect(told(model.requests[5]?.messages).at(-1)).toMatch(/^Every tool call of your last 5 rounds failed/);
  expect(await fs.read(`${A}/chat`)).toMatch(
    /:: every call of the last 5 rounds failed\n[\s\S]*error: every call of 10 rounds in a row failed\n$/,
  );
  await until(() => lines.includes("E session/s1/agent/a1 every call of 10 rounds in a row failed"));
  expect(model.complaints).toEqual([]);
});

test("one success among the calls of a round starts the count of failures anew", async () => {
  const { fs, A, model, idle } = await startAgent({
    run: ({ args }) => (args.i === 4 || args.i === 13 ? ok("fine") : failing()),
  });
  model.replies = [...rounds(18), say("done")];
  await fs.write(`${A}/prompt`, "go");
  await idle();
  expect(await fs.read(`${A}/chat`)).toMatch(/assistant: done\n$/);
  expect((await fs.read(`${A}/chat`)).match(/rounds failed/g)).toHaveLength(1);
});

test("eight rounds without a plan are told, in ever longer distances; a plan starts the count anew", async () => {
  const { fs, A, model, idle } = await startAgent();
  model.replies = [...rounds(24), say("done")];
  await fs.write(`${A}/prompt`, "go");
  await idle();
  const at = (wanted: RegExp) =>
    model.requests.flatMap(({ messages }, i) => (wanted.test(told(messages.slice(-1))[0] ?? "") ? [i] : []));
  expect(at(/PLAN:/)).toEqual([8, 24]);
  expect(await fs.read(`${A}/chat`)).toContain(":: 8 rounds without a plan\n");

  model.requests.length = 0;
  model.replies = [...rounds(12, { plan: 6 }), say("done")];
  await fs.write(`${A}/prompt`, "go on");
  await idle();
  expect(at(/PLAN:/)).toEqual([]);
  expect(model.complaints).toEqual([]);
});

test("five equal rounds are told and do not end the turn; equal calls with other results are progress", async () => {
  let n = 0;
  const { fs, A, model, idle, ran } = await startAgent({ run: () => ok(n === 0 ? "same" : `tick ${n++}`) });
  const equal = () => calls(call("touch", { job: 1 }));
  model.replies = [...Array.from({ length: 7 }, equal), say("done")];
  await fs.write(`${A}/prompt`, "go");
  await idle();
  expect(ran).toHaveLength(7);
  expect(model.requests[5]?.messages.at(-1)?.content).toMatch(/^Your last 5 rounds made the same calls/);
  expect((await fs.read(`${A}/chat`)).match(/rounds were equal/g)).toHaveLength(1);

  n = 1;
  model.replies = [...Array.from({ length: 7 }, equal), say("done")];
  await fs.write(`${A}/prompt`, "poll");
  await idle();
  expect((await fs.read(`${A}/chat`)).match(/rounds were equal/g)).toHaveLength(1);
});

test("the counts belong to one turn", async () => {
  const { fs, A, model, idle } = await startAgent({ run: failing });
  for (let turn = 0; turn < 3; turn++) {
    model.replies = [...rounds(4), say("done")];
    await fs.write(`${A}/prompt`, "go");
    await idle();
  }
  expect(await fs.read(`${A}/chat`)).not.toContain(":: ");
});
