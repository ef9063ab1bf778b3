import { expect, test } from "vitest";
import type { Principal } from "#core";
import { Sessions } from "#plugins/sessions";
import { ok, type Rig, type RigOptions, startAgent } from "./kit.ts";
import { call, calls, done, hang, say, text } from "./model.ts";

/** A session with a1 and a2, and the tree as a2 sees it. */
async function two(options: RigOptions = {}): Promise<Rig & { peer: Rig["fs"] }> {
  const rig = await startAgent(options);
  await rig.fs.rdwr("/session/s1/agent/new", `name=a2 cwd=${rig.cwd}`);
  const session = rig.kernel.use(Sessions)?.get("s1")?.id ?? "";
  const agent = (await rig.fs.read("/session/s1/agent/a2/id")).trim();
  const who: Principal = { name: "a2", groups: ["agent"], kind: "agent", agent, session };
  return { ...rig, peer: rig.fs.as(who) };
}

test("H-086: a message of another agent reaches a busy one between two steps", async () => {
  const rig = await two({
    run: async () => {
      await rig.peer.write(`${rig.A}/prompt`, "which one?");
      await rig.fs.write(`${rig.A}/prompt`, "from the user");
      return ok("seen");
    },
  });
  const { fs, A, model, idle } = rig;
  model.replies = [calls(call("look")), say("that one"), say("as you say")];
  await fs.write(`${A}/prompt`, "go");
  await idle();
  expect(model.requests[1]?.messages.at(-1)).toEqual({
    role: "user",
    content: '<agent-message from="a2">\nwhich one?\n</agent-message>',
  });
  expect(model.requests[2]?.messages.at(-1)?.content).toBe("from the user");
  expect(await fs.read(`${A}/chat`)).toMatch(
    /seen\nuser: which one\?\nassistant: that one\nuser: from the user\nassistant: as you say\n$/,
  );
  expect(model.complaints).toEqual([]);
});

test("a message that no step takes is the next prompt, and an idle agent runs it at once", async () => {
  const { fs, A, model, idle, peer, until } = await two();
  let release = () => {};
  const waiting = new Promise<void>((resolve) => {
    release = resolve;
  });
  model.replies = [[text("a"), { type: "wait", until: waiting }, done()], say("b"), say("c")];
  await fs.write(`${A}/prompt`, "go");
  await until(() => model.requests.length === 1);
  await peer.write(`${A}/prompt`, "note");
  release();
  await idle();
  await peer.write(`${A}/prompt`, "news");
  await idle();
  expect(model.requests.map(({ messages }) => messages.at(-1)?.content)).toEqual(["go", "note", "news"]);
});

test("a message of another agent does not lift the hold of a stop", async () => {
  const { fs, A, model, idle, peer, until } = await two();
  model.replies = [[text("a"), hang()], say("b"), say("c"), say("d")];
  await fs.write(`${A}/prompt`, "A");
  await until(() => model.requests.length === 1);
  await fs.write(`${A}/fifo`, "B");
  await fs.rdwr(`${A}/ctl`, "stop");
  await idle();
  await peer.write(`${A}/prompt`, "report");
  expect(await fs.read(`${A}/stats`)).toContain("state=idle\n");
  expect(await fs.read(`${A}/stats`)).toContain("queued=2\nheld=1\n");
  await fs.write(`${A}/prompt`, "C");
  await idle();
  expect(model.requests.map(({ messages }) => messages.at(-1)?.content)).toEqual(["A", "C", "B", "report"]);
});

test("H-086: two agents that wait for each other are ended by a stop of one of them", async () => {
  const { fs, A, model, idle, peer, until, agent } = await two({
    run: async (_, { signal }) => {
      // Each waits for the other's state to become idle, as a script with statewait would.
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      return { status: "cancelled", content: "waited" };
    },
  });
  model.replies = [calls(call("shell")), calls(call("shell")), say("ok"), say("ok")];
  await fs.write(`${A}/prompt`, "spawn and wait");
  await until(() => agent().state === "calling: shell");
  await fs.write("/session/s1/agent/a2/prompt", "ask and wait");
  await until(async () => (await fs.read("/session/s1/agent/a2/state")) === "calling: shell\n");
  await peer.write(`${A}/prompt`, "which?");
  await fs.rdwr(`${A}/ctl`, "stop");
  await idle();
  expect(await fs.read("/session/s1/agent/a2/state")).toBe("calling: shell\n");
  await fs.rdwr("/session/s1/agent/a2/ctl", "stop");
  await until(async () => (await fs.read("/session/s1/agent/a2/state")) === "idle\n");
  expect(await fs.read(`${A}/queue`)).toContain("\ta2\twhich?\n");
});
