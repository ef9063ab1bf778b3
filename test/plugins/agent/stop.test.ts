import { expect, test } from "vitest";
import { agentSpawn, postTool, postTurn, preTool, preTurn } from "#plugins/agent";
import { BackendError } from "#plugins/backends";
import { ok, start, startAgent } from "./kit.ts";
import { call, calls, done, hang, say, text } from "./model.ts";

/** A tool runner that answers at once, but for `shell`, which runs until it is stopped. */
const slowShell = async (
  { tool, args }: { tool: string; args: Record<string, unknown> },
  { signal, onOutput }: { signal: AbortSignal; onOutput?: (text: string) => void },
) => {
  if (tool !== "shell") return ok(`${tool} ${args.n}`);
  onOutput?.("part\n");
  await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  return { status: "cancelled" as const, content: "part\n" };
};

test("H-020: stop leaves every call with one result, and the next prompt is accepted", async () => {
  const { fs, A, model, idle, ran, until, agent } = await startAgent({ run: slowShell });
  model.replies = [calls(call("look", { n: 1 }), call("shell"), call("look", { n: 2 })), say("fine")];
  await fs.write(`${A}/prompt`, "go");
  await until(() => agent().state === "calling: shell");
  await fs.rdwr(`${A}/ctl`, "stop");
  await idle();
  expect(ran.map(({ tool }) => tool)).toEqual(["look", "shell"]);
  await fs.write(`${A}/prompt`, "and now?");
  await idle();
  expect(model.complaints).toEqual([]);
  const results = model.requests[1]?.messages.filter(({ role }) => role === "tool") ?? [];
  expect(results).toHaveLength(3);
  expect(results[0]?.content).toBe("look 1");
  expect(results[1]?.content).toMatch(/^interrupted by the user's stop: part\n/);
  expect(results[2]?.content).toMatch(/^not started: /);
});

test("H-021: interrupted, not started and blocked are told apart, and none says that the user refused", async () => {
  const { fs, A, model, idle, until, agent } = await startAgent({ run: slowShell });
  model.replies = [calls(call("shell"), call("shell")), say("ok")];
  await fs.write(`${A}/prompt`, "go");
  await until(() => agent().state === "calling: shell");
  agent().interrupt("test");
  await idle();
  await fs.write(`${A}/prompt`, "next");
  await idle();
  const [first, second] = model.requests[1]?.messages.filter(({ role }) => role === "tool") ?? [];
  expect(first?.content).toMatch(/^interrupted by .*part\n/);
  expect(second?.content).toContain("not started");
  for (const result of [first, second]) expect(result?.content).not.toMatch(/refus|denied|block/i);
});

test("H-022: blank text before a stop is not stored; other text is", async () => {
  const { fs, A, model, idle, until } = await startAgent();
  model.replies = [[text("\n\n"), hang()], [text("I was "), hang()], say("ok")];
  await fs.write(`${A}/prompt`, "one");
  await until(() => model.requests.length === 1);
  await fs.rdwr(`${A}/ctl`, "stop");
  await idle();
  await fs.write(`${A}/prompt`, "two");
  await until(async () => (await fs.read(`${A}/chat`)).includes("I was"));
  await fs.rdwr(`${A}/ctl`, "stop");
  await idle();
  await fs.write(`${A}/prompt`, "three");
  await idle();
  expect(model.complaints).toEqual([]);
  expect(model.requests[2]?.messages.slice(1).map(({ role, content }) => `${role} ${content}`)).toEqual([
    "user one",
    "user two",
    "assistant I was ",
    "user three",
  ]);
  expect(await fs.read(`${A}/chat`)).toBe(
    "user: one\n:: stopped\nuser: two\nassistant: I was \n:: stopped\nuser: three\nassistant: ok\n",
  );
});

test("H-085: stop holds the queue and says so; the next prompt runs at once, then the queue goes on", async () => {
  const { fs, A, model, idle, until } = await startAgent();
  model.replies = [[text("a"), hang()], say("c"), say("b")];
  await fs.write(`${A}/prompt`, "A");
  await until(() => model.requests.length === 1);
  await fs.write(`${A}/prompt`, "B");
  expect(await fs.read(`${A}/stats`)).toContain("queued=1\nheld=0\n");
  await fs.rdwr(`${A}/ctl`, "stop");
  await idle();
  expect(await fs.read(`${A}/stats`)).toContain("queued=1\nheld=1\n");
  expect(await fs.read(`${A}/queue`)).toMatch(/^\w+\t\S+\tB\n$/);
  await fs.write(`${A}/prompt`, "C");
  await idle();
  expect(await fs.read(`${A}/chat`)).toMatch(/user: C\nassistant: c\nuser: B\nassistant: b\n$/);
  expect(await fs.read(`${A}/stats`)).toContain("queued=0\nheld=0\n");
});

/** An agent that is stopped in a call which takes its time to end, and what lets that call end. */
async function slowStop() {
  let release = () => {};
  const over = new Promise<void>((resolve) => {
    release = resolve;
  });
  const run = async () => {
    await over;
    return { status: "cancelled" as const, content: "part" };
  };
  const rig = await startAgent({ run });
  rig.model.replies = [calls(call("look")), say("c"), say("b"), say("d")];
  await rig.fs.write(`${rig.A}/prompt`, "A");
  await rig.until(() => rig.agent().state === "calling: look");
  await rig.fs.write(`${rig.A}/fifo`, "B");
  await rig.fs.rdwr(`${rig.A}/ctl`, "stop");
  return { ...rig, release };
}

test("H-085: a prompt behind a stop runs next, also where the stopped turn takes a while to end", async () => {
  for (const file of ["prompt", "inject"]) {
    const { fs, A, idle, release } = await slowStop();
    await fs.write(`${A}/${file}`, "C");
    await fs.write(`${A}/prompt`, "D");
    release();
    await idle();
    expect(await fs.read(`${A}/chat`)).toMatch(
      /:: stopped\nuser: C\nassistant: c\nuser: B\nassistant: b\nuser: D\nassistant: d\n$/,
    );
    expect(await fs.read(`${A}/stats`)).toContain("queued=0\nheld=0\n");
  }
});

test("resume behind a stop goes on with the queue, also where the stopped turn takes a while to end", async () => {
  const { fs, A, idle, release } = await slowStop();
  await fs.rdwr(`${A}/ctl`, "resume");
  release();
  await idle();
  expect(await fs.read(`${A}/chat`)).toMatch(/:: stopped\nuser: B\nassistant: c\n$/);
});

test("a second stop holds what came behind the first", async () => {
  const { fs, A, idle, release } = await slowStop();
  await fs.write(`${A}/prompt`, "C");
  await fs.rdwr(`${A}/ctl`, "stop");
  release();
  await idle();
  expect(await fs.read(`${A}/stats`)).toContain("queued=2\nheld=1\n");
  expect(await fs.read(`${A}/queue`)).toMatch(/\tC\n.*\tB\n$/);
});

test("a prompt that comes while a held agent is cleared runs behind that", async () => {
  let clear = () => {};
  const cleared = new Promise<void>((resolve) => {
    clear = resolve;
  });
  let made = 0;
  const { fs, A, model, idle, until } = await startAgent({
    hooks: (api) => void api.on(agentSpawn, () => (made++ === 0 ? undefined : cleared)),
  });
  model.replies = [[hang()], say("c"), say("b")];
  await fs.write(`${A}/prompt`, "A");
  await until(() => model.requests.length === 1);
  await fs.write(`${A}/fifo`, "B");
  await fs.rdwr(`${A}/ctl`, "stop");
  await idle();
  const done = fs.rdwr(`${A}/ctl`, "clear");
  await fs.write(`${A}/prompt`, "C");
  clear();
  await done;
  await idle();
  expect(await fs.read(`${A}/chat`)).toMatch(/user: C\nassistant: c\nuser: B\nassistant: b\n$/);
});

test("resume goes on with a held queue", async () => {
  const { fs, A, model, idle, until } = await startAgent();
  model.replies = [[hang()], say("b")];
  await fs.write(`${A}/prompt`, "A");
  await until(() => model.requests.length === 1);
  await fs.write(`${A}/fifo`, "B");
  await fs.rdwr(`${A}/ctl`, "stop");
  await idle();
  await fs.rdwr(`${A}/ctl`, "resume");
  await idle();
  expect(await fs.read(`${A}/chat`)).toMatch(/user: B\nassistant: b\n$/);
});

test("pause finishes the step, holds what comes, and resume goes on", async () => {
  const { fs, A, model, idle, until, agent } = await startAgent({
    run: async () => {
      agent().pause();
      return ok("seen");
    },
  });
  model.replies = [calls(call("look")), say("after"), say("second")];
  await fs.write(`${A}/prompt`, "go");
  await until(() => agent().state === "paused");
  expect(model.requests).toHaveLength(1);
  await fs.write(`${A}/prompt`, "more");
  await fs.rdwr(`${A}/ctl`, "resume");
  await idle();
  expect(await fs.read(`${A}/chat`)).toMatch(/assistant: after\nuser: more\nassistant: second\n$/);
});

test("stop ends a paused turn, and stop without a turn does nothing", async () => {
  const { fs, A, model, idle, until, agent } = await startAgent({
    run: async () => {
      agent().pause();
      return ok("seen");
    },
  });
  model.replies = [calls(call("look")), say("new")];
  await fs.write(`${A}/prompt`, "go");
  await until(() => agent().state === "paused");
  await fs.rdwr(`${A}/ctl`, "stop");
  await idle();
  expect(agent().interrupt("again")).toBe(false);
  await fs.rdwr(`${A}/ctl`, "stop");
  await fs.write(`${A}/prompt`, "next");
  await idle();
  expect(await fs.read(`${A}/chat`)).toMatch(/:: stopped\nuser: next\nassistant: new\n$/);
  expect(model.complaints).toEqual([]);
});

test("inject rides on the next tool result; unused it is the next prompt, before the queue", async () => {
  const { fs, A, model, idle, until } = await startAgent({
    run: async () => {
      await fs.write(`${A}/inject`, "use B instead\n");
      return ok("seen");
    },
  });
  const until2 = { release: () => {} };
  const waiting = new Promise<void>((resolve) => {
    until2.release = resolve;
  });
  model.replies = [
    calls(call("look")),
    [text("fi"), { type: "wait", until: waiting }, text("ne"), done()],
    say("as you say"),
    say("last"),
  ];
  await fs.write(`${A}/prompt`, "go");
  await until(() => model.requests.length === 2);
  expect(model.requests[1]?.messages.at(-1)?.content).toBe(
    "seen\n\n<system-user-interruption>\nuse B instead\n</system-user-interruption>",
  );
  await fs.write(`${A}/fifo`, "queued");
  await fs.write(`${A}/inject`, "one more thing");
  until2.release();
  await idle();
  expect(model.requests.slice(2).map(({ messages }) => messages.at(-1)?.content)).toEqual(["one more thing", "queued"]);
  const chat = await fs.read(`${A}/chat`);
  expect(chat.match(/user: one more thing\n/g)).toHaveLength(1);
  expect(chat.match(/user: use B instead\n/g)).toHaveLength(1);
});

test("inject without a turn is a prompt", async () => {
  const { fs, A, model, idle } = await startAgent();
  model.replies = [say("ok")];
  await fs.write(`${A}/inject`, "hello");
  await idle();
  expect(await fs.read(`${A}/chat`)).toBe("user: hello\nassistant: ok\n");
});

test("kill ends open readers and the turn that runs", async () => {
  const { fs, A, model, until, lines } = await startAgent();
  model.replies = [[text("on and on"), hang()]];
  const read = (async () => {
    let all = "";
    for await (const piece of fs.stream(`${A}/chat`)) all += piece;
    return all;
  })();
  await fs.write(`${A}/prompt`, "go");
  await until(async () => (await fs.read(`${A}/chat`)).includes("on and on"));
  await fs.write(`${A}/ctl`, "kill");
  expect(await read).toMatch(/^user: go\nassistant: on and on\n/);
  expect(await fs.ls("/session/s1/agent")).toEqual(["new"]);
  await until(() => lines.includes("A kill session/s1/agent/a1"));
});

test("stop does not wait for hooks", async () => {
  const never = () => new Promise<never>(() => {});
  let slow = "";
  const { fs, A, model, idle, until, agent } = await startAgent({
    hooks(api) {
      for (const hook of [preTurn, preTool, postTurn] as const)
        api.on(hook as typeof preTurn, () => (slow === hook.name ? never() : undefined));
      api.on(postTool, () => (slow === "postTool" ? never() : undefined));
    },
  });
  for (slow of ["preTurn", "preTool", "postTool", "postTurn"]) {
    const before = model.requests.length;
    model.replies = [calls(call("look")), say("ok"), say("ok")];
    await fs.write(`${A}/prompt`, slow);
    const reached = { preTurn: 0, preTool: 1, postTool: 1, postTurn: 2 }[slow] ?? 0;
    await until(() => model.requests.length === before + reached && agent().state !== "idle");
    await fs.rdwr(`${A}/ctl`, "stop");
    await idle();
  }
  slow = "";
  model.replies = [say("ok")];
  await fs.write(`${A}/prompt`, "last");
  await idle();
  expect(model.complaints).toEqual([]);
  expect(model.requests.at(-1)?.messages.at(-1)?.content).toBe("last");
});

test("stop ends compaction, at an overflow and by hand, and nothing is said to have failed", async () => {
  const asked: AbortSignal[] = [];
  const { fs, A, model, idle, until, agent } = await startAgent({
    compactor: {
      compact(_at, _trigger, signal) {
        asked.push(signal);
        return new Promise(() => {});
      },
    },
  });
  model.replies = [[new BackendError("overflow", "too many tokens")], say("fine")];
  await fs.write(`${A}/prompt`, "go");
  await until(() => agent().state === "compacting");
  await fs.rdwr(`${A}/ctl`, "stop");
  await idle();
  expect(await fs.read(`${A}/chat`)).toBe("user: go\n:: stopped\n");
  const manual = fs.rdwr(`${A}/ctl`, "compact");
  manual.catch(() => {});
  await until(() => asked.length === 2);
  expect(agent().state).toBe("compacting");
  expect(agent().interrupt("test")).toBe(true);
  await expect(manual).rejects.toThrow("it was stopped");
  expect(agent().state).toBe("idle");
  expect(asked.map(({ aborted }) => aborted)).toEqual([true, true]);
  await fs.write(`${A}/prompt`, "next");
  await idle();
  expect(await fs.read(`${A}/chat`)).toMatch(/assistant: fine\n$/);
});

test("stop holds what was queued behind compaction; a prompt then runs first", async () => {
  const { fs, A, model, idle, until, agent } = await startAgent({
    compactor: { compact: () => new Promise(() => {}) },
  });
  const manual = fs.rdwr(`${A}/ctl`, "compact");
  manual.catch(() => {});
  await until(() => agent().state === "compacting");
  await fs.write(`${A}/prompt`, "behind");
  await fs.rdwr(`${A}/ctl`, "stop");
  await expect(manual).rejects.toThrow("it was stopped");
  await idle();
  expect(model.requests).toEqual([]);
  expect(await fs.read(`${A}/stats`)).toMatch(/^queued=1\nheld=1$/m);
  model.replies = [say("a"), say("b")];
  await fs.write(`${A}/prompt`, "first");
  await idle();
  expect(await fs.read(`${A}/chat`)).toBe("user: first\nassistant: a\nuser: behind\nassistant: b\n");
});

test("a shutdown is told from the user's stop", async () => {
  const first = await startAgent({ run: slowShell });
  first.model.replies = [calls(call("shell"), call("shell"))];
  await first.fs.write(`${first.A}/prompt`, "go");
  await first.until(() => first.agent().state === "calling: shell");
  await first.close();
  const { fs, A, model, idle } = await start({ dir: first.dir });
  model.replies = [say("ok")];
  await fs.write(`${A}/prompt`, "next");
  await idle();
  const results = model.requests[0]?.messages.filter(({ role }) => role === "tool").map(({ content }) => content);
  expect(results).toEqual([
    "interrupted by the shutdown of the server: part\n",
    "not started: the shutdown of the server came before this call began",
  ]);
});

test("a paused agent is paused after a restart, with what waits, and resume goes on", async () => {
  const first = await startAgent();
  await first.fs.rdwr(`${first.A}/ctl`, "pause");
  await first.fs.write(`${first.A}/prompt`, "later");
  expect(await first.fs.read(`${first.A}/state`)).toBe("paused\n");
  await first.close();
  const { fs, A, model, idle } = await start({ dir: first.dir });
  expect(await fs.read(`${A}/state`)).toBe("paused\n");
  expect(await fs.read(`${A}/queue`)).toContain("\tlater\n");
  model.replies = [say("done")];
  await fs.rdwr(`${A}/ctl`, "resume");
  await idle();
  expect(await fs.read(`${A}/chat`)).toMatch(/user: later\nassistant: done\n$/);
});
