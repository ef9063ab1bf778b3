import { expect, test } from "vitest";
import { preTurn } from "#plugins/agent";
import { ok, startAgent, tool } from "./kit.ts";
import { call, calls, say } from "./model.ts";

const note = "<system-proc-interrupt>\nprocess 1 ended\n</system-proc-interrupt>";

test("H-064: what background processes did rides behind the next result, whole and once", async () => {
  const long = "x".repeat(20_000);
  const rig = await startAgent({
    agent: { resultBytes: 1000 },
    run: () => {
      rig.news.push(note);
      return ok(long);
    },
  });
  const { fs, A, model, idle } = rig;
  model.replies = [calls(call("look")), say("seen")];
  await fs.write(`${A}/prompt`, "go");
  await idle();
  const content = model.requests[1]?.messages.at(-1)?.content ?? "";
  expect(content.slice(1000)).toMatch(/^\n\(cut: [^\n]*\)\n\n<system/);
  expect(content.endsWith(note)).toBe(true);
  expect(JSON.stringify(model.requests).split("process 1 ended")).toHaveLength(2);
});

test("H-064: and behind the next prompt of an idle agent, but not of one that a hook dropped", async () => {
  const rig = await startAgent({
    hooks: (api) => api.on(preTurn, ({ prompt }) => (prompt === "no" ? { block: "not this one" } : undefined)),
  });
  const { fs, A, model, idle } = rig;
  model.replies = [say("one"), say("two")];
  rig.news.push(note);
  await fs.write(`${A}/prompt`, "no");
  await idle();
  await fs.write(`${A}/prompt`, "first");
  await idle();
  await fs.write(`${A}/prompt`, "second");
  await idle();
  const last = model.requests.map(({ messages }) => messages.at(-1)?.content);
  expect(last).toEqual([`first\n\n${note}`, "second"]);
});

test("a background call is not kept as a read, and none is while one runs", async () => {
  const tools = [tool("look")];
  let running = false;
  const rig = await startAgent({ tools, processes: () => (running ? [{ end: undefined }] : []) });
  const { fs, A, model, idle, ran } = rig;
  model.replies = [
    calls(call("look", { background: true })),
    calls(call("look", { background: true })),
    () => {
      running = true;
      return calls(call("look"));
    },
    calls(call("look")),
    say("done"),
  ];
  await fs.write(`${A}/prompt`, "go");
  await idle();
  expect(ran.map(({ background, timeout }) => [background, timeout])).toEqual([
    [true, 0],
    [true, 0],
    [false, 30_000],
    [false, 30_000],
  ]);
});
