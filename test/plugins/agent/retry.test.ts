import { expect, test } from "vitest";
import { turnError } from "#plugins/agent";
import { BackendError } from "#plugins/backends";
import { startAgent } from "./kit.ts";
import { call, done, hang, say, text } from "./model.ts";

const transient = () => new BackendError("transient", "upstream limit", { status: 502 });

test("H-013: a failure inside of a stream is retried, its half call does not run, and its words are shown", async () => {
  const { fs, A, model, idle, ran, lines, until } = await startAgent();
  model.replies = [[text("a"), call("look"), transient()], say("whole")];
  await fs.write(`${A}/prompt`, "go");
  await idle();
  expect(ran).toEqual([]);
  expect(model.requests[1]?.messages).toEqual(model.requests[0]?.messages);
  expect(await fs.read(`${A}/chat`)).toMatch(
    /^user: go\nassistant: a\nretry 1 of 3 in 1 s: upstream limit\nthe reply above is void and starts anew\nassistant: whole\n$/,
  );
  await until(() => lines.some((line) => line === "E session/s1/agent/a1 retry 1 of 3 in 1 s: upstream limit"));
});

test("H-014: at most 3 retries, then the turn ends with the provider's words", async () => {
  const { fs, A, model, idle } = await startAgent();
  model.replies = [[transient()], [transient()], [transient()], [transient()], say("never")];
  await fs.write(`${A}/prompt`, "go");
  await idle();
  expect(model.requests).toHaveLength(4);
  expect(await fs.read(`${A}/chat`)).toMatch(/error: upstream limit \(after 3 retries\)\n$/);
});

test("H-015: a stream that ends without a finish mark is broken: no call of it runs", async () => {
  const { fs, A, model, idle, ran } = await startAgent();
  model.replies = [[text("I will now")], [call("look")], say("done")];
  await fs.write(`${A}/prompt`, "go");
  await idle();
  expect(ran).toEqual([]);
  expect(model.requests).toHaveLength(3);
  expect(await fs.read(`${A}/chat`)).toMatch(/broke off without a finish mark[\s\S]*assistant: done\n$/);
  await fs.write(`${A}/prompt`, "next");
  await idle();
  expect(model.requests.at(-1)?.messages.map(({ content }) => content)).not.toContain("I will now");
});

test("H-016: the provider's wait is obeyed, and one over the limit ends the turn", async () => {
  const { fs, A, model, idle, until, agent } = await startAgent();
  const limited = (retryAfterMs: number) => new BackendError("rateLimit", "slow down", { status: 429, retryAfterMs });
  model.replies = [[limited(40)], say("ok"), [limited(99_999_000)]];
  const states: string[] = [];
  void (async () => {
    for (let state = "idle"; ; states.push(state)) {
      const next = await agent().waitChange("state", state, AbortSignal.timeout(10_000));
      if (next === undefined) return;
      state = next;
    }
  })();
  const start = performance.now();
  await fs.write(`${A}/prompt`, "go");
  await until(() => model.requests.length === 2);
  expect(performance.now() - start).toBeGreaterThanOrEqual(39);
  await idle();
  expect(states).toContain("limitretry");
  await fs.write(`${A}/prompt`, "again");
  await idle();
  expect(model.requests).toHaveLength(3);
  expect(await fs.read(`${A}/chat`)).toMatch(/error: slow down \(the provider asks to wait 99999 s\)\n$/);
});

test("H-017: quota, key and request errors end the turn after one request", async () => {
  const seen: string[] = [];
  const { fs, A, model, idle } = await startAgent({
    hooks: (api) => api.on(turnError, (failure) => void seen.push(`${failure.kind}: ${failure.message}`)),
  });
  for (const kind of ["quota", "auth", "badRequest"] as const) {
    model.replies = [[new BackendError(kind, `the ${kind} words`)]];
    await fs.write(`${A}/prompt`, kind);
    await idle();
    expect(await fs.read(`${A}/chat`)).toMatch(new RegExp(`error: the ${kind} words\n$`));
  }
  expect(model.requests).toHaveLength(3);
  expect(seen).toEqual(["quota: the quota words", "auth: the auth words", "badRequest: the badRequest words"]);
});

test("H-018: stop during a retry pause takes effect at once, and is no provider error", async () => {
  const { fs, A, model, idle, until, agent } = await startAgent();
  model.replies = [[new BackendError("rateLimit", "wait", { retryAfterMs: 60_000 })], say("never")];
  await fs.write(`${A}/prompt`, "go");
  await until(() => agent().state === "limitretry");
  await fs.rdwr(`${A}/ctl`, "stop");
  await idle();
  expect(model.requests).toHaveLength(1);
  expect(await fs.read(`${A}/chat`)).toMatch(/:: stopped\n$/);
  expect(await fs.read(`${A}/chat`)).not.toContain("error:");
});

test("H-019: a model that falls silent counts as broken, and stop works while waiting", async () => {
  const { fs, A, model, idle, until } = await startAgent({ agent: { idleMs: 50 } });
  model.replies = [[hang()], [text("x"), hang()], [text("ok"), done()]];
  await fs.write(`${A}/prompt`, "go");
  await until(() => model.requests.length === 3);
  await idle();
  expect(await fs.read(`${A}/chat`)).toMatch(/the model sent nothing for 0.05 s[\s\S]*assistant: ok\n$/);
});

test("a hook that handles the failure ends the turn without retries", async () => {
  const { fs, A, model, idle } = await startAgent({
    hooks: (api) => api.on(turnError, (failure) => failure.handled()),
  });
  model.replies = [[transient()], say("never")];
  await fs.write(`${A}/prompt`, "go");
  await idle();
  expect(model.requests).toHaveLength(1);
  expect(await fs.read(`${A}/chat`)).toMatch(/error: upstream limit\n$/);
});

test("an overflow ends the turn with one clear error, or is compacted once", async () => {
  const bare = await startAgent();
  bare.model.replies = [[new BackendError("overflow", "too many tokens")]];
  await bare.fs.write(`${bare.A}/prompt`, "go");
  await bare.idle();
  expect(await bare.fs.read(`${bare.A}/chat`)).toMatch(
    /error: context window is full \(ctl clear starts anew\): too many tokens\n$/,
  );
  await expect(bare.fs.rdwr(`${bare.A}/ctl`, "compact")).rejects.toThrow("compact: no compaction plugin is loaded");
  await bare.close();

  const triggers: string[] = [];
  const rig = await startAgent({
    compactor: {
      async compact(_, trigger) {
        triggers.push(trigger);
        return "smaller";
      },
    },
  });
  rig.model.replies = [[new BackendError("overflow", "too many")], [new BackendError("overflow", "still too many")]];
  await rig.fs.write(`${rig.A}/prompt`, "go");
  await rig.idle();
  expect(triggers).toEqual(["overflow"]);
  expect(rig.model.requests).toHaveLength(2);
  expect(await rig.fs.rdwr(`${rig.A}/ctl`, "compact")).toBe("smaller\n");
});

test("usage and cost add up; a spending limit ends the turn in the middle", async () => {
  const { fs, A, model, idle } = await startAgent({ agent: { maxCost: 0.01 } });
  const usage = { type: "usage" as const, usage: { input: 100, cachedInput: 40, output: 5, costUSD: 0.006 } };
  model.replies = [[call("look"), usage, done()], [call("look"), usage, done()], say("never")];
  await fs.write(`${A}/prompt`, "go");
  await idle();
  expect(model.requests).toHaveLength(2);
  const stats = await fs.read(`${A}/stats`);
  expect(stats).toContain("usage=200 in, 10 out, 2 requests, 80 cached\ncost=$0.0120\n");
  expect(stats).toMatch(/ctxsz=\d+ \/ 1000 \(\d+%\)\n/);
  expect(await fs.read(`${A}/chat`)).toMatch(/error: spending limit of \$0.0100 is reached[^\n]*\n$/);
  expect(model.complaints).toEqual([]);
});
