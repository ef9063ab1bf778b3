/** One plugin is broken, one is not: the second goes on, and what happened can be read. */
import { describe, expect, test } from "vitest";
import { type Base, createKernel, hook, type LeafSpec, leaf, Root } from "#core";
import control from "../../plugins/control/index.ts";
import { failure, keptLog, kernelOf, late, plug, settled, started, stateOf } from "./kit.ts";

const Ev = hook.observe<[]>("ev", { doc: "x" });
const Gate = hook.gate<[]>("gate", { doc: "x", onThrow: "block", limit: 5 });

const good = plug("good", ({ mount, on }) => {
  let heard = 0;
  on(Ev, () => void heard++);
  mount(Root, leaf("good", { doc: "x", read: () => `heard ${heard}` }));
});
const badFile = (spec: unknown) =>
  plug("bad", ({ mount }) => mount(Root, leaf("bad", { doc: "x", ...(spec as object) } as LeafSpec<Base>)));
const boom = () => {
  throw new Error("boom");
};
const never = () => new Promise<never>(() => {});

test.each<[string, unknown, string]>([
  ["throws", { read: boom }, "bad: read /bad: boom"],
  ["rejects", { read: () => Promise.reject(new Error("boom")) }, "bad: read /bad: boom"],
  ["throws no Error", { read: () => Promise.reject({ odd: 1 }) }, 'bad: read /bad: {"odd":1}'],
  ["gives a wrong type", { read: () => 42 }, "bad: read /bad: gave number, not text"],
  ["never settles", { read: never }, "bad: read /bad: no answer in 5 ms"],
  ["breaks a stream", { stream: boom }, "bad: stream /bad: boom"],
  ["has a size that throws", { read: () => "x", size: boom }, ""],
])(
  "a handler that %s: one Rerror, in the log and in plugins/bad/error; all else goes on",
  async (_what, spec, message) => {
    const { log, lines } = keptLog();
    const k = await started([badFile(spec), good, control()], { log, handlerLimit: 5 });
    if (message === "") await failure(() => k.fs.stat("/bad"));
    else expect(await failure(() => k.fs.read("/bad"))).toBe(message);
    expect(await k.fs.read("/plugins/bad/error")).toMatch(/\/bad: .+\n$/);
    expect(await k.fs.read("/plugins/good/error")).toBe("");
    expect(await k.fs.read("/plugins/bad/status")).toContain("state=running\n");
    expect(lines.filter((line) => line.startsWith("error"))).toHaveLength(1);
    k.call(Ev);
    expect(await k.fs.read("/good")).toBe("heard 1");
  },
);

test("a tap that throws or never settles: reported with its plugin, the others run", async () => {
  const bad = plug("bad", ({ on }) => {
    on(Ev, boom);
    on(Gate, never);
  });
  const k = await started([bad, good]);
  k.call(Ev);
  expect(await k.fs.read("/good")).toBe("heard 1");
  expect(stateOf(k, "bad").error).toBe("hook ev: boom");
  expect(await k.call(Gate)).toEqual({ block: "bad: hook gate failed: bad: hook gate did not answer in 5 ms" });
  expect(k.status()[0]).toMatchObject({ inFlight: [] });
});

test("a setup that fails: the others are served", async () => {
  const k = await started([plug("bad", boom), good, control()]);
  expect(await k.fs.read("/good")).toBe("heard 0");
  expect(await k.fs.read("/plugins/bad/error")).toBe("setup: boom\n");
  expect(await k.fs.read("/plugins/idx")).toMatch(/^bad\tfailed\t\d+\tsetup: boom\ngood\trunning\t/);
});

describe("an error that reached nobody", () => {
  test("in a timer of a plugin stops that plugin, and what it served goes", async () => {
    const k = await started([badFile({ read: () => "x" }), good, control()]);
    expect(late(k, "bad", new Error("tick"))).toBe(true);
    await settled();
    expect(stateOf(k, "bad")).toEqual({ state: "stopped", error: "late error: tick" });
    expect(await k.fs.ls("/")).not.toContain("bad");
    expect(await k.fs.read("/good")).toBe("heard 0");
    expect(await k.fs.read("/plugins/bad/error")).toBe("late error: tick\n");
  });

  test("twice, of a plugin that is stopped by then: noted, and nobody else pays", async () => {
    const k = await started([badFile({ read: () => "x" }), good]);
    expect([late(k, "bad", new Error("one")), late(k, "bad", new Error("two"))]).toEqual([true, true]);
    await settled();
    expect(late(k, "bad", new Error("three"))).toBe(true);
    expect(stateOf(k, "bad").error).toBe("late error: three");
    expect(await k.fs.read("/good")).toBe("heard 0");
  });

  test("in a loose promise of a handler is that plugin's, also with nothing but a text", async () => {
    const k = await started([
      badFile({
        read: () => {
          void Promise.reject("loose");
          return "x";
        },
      }),
      good,
    ]);
    const blamed = new Promise<boolean>((done) => process.once("unhandledRejection", (error) => done(k.late(error))));
    expect(await k.fs.read("/bad")).toBe("x");
    expect(await blamed).toBe(true);
    expect(stateOf(k, "bad").error).toBe("late error: loose");
  });

  test("in a loose promise of a generator is its plugin's, whoever pulls it", async () => {
    const k = await started([
      badFile({
        stream: async function* () {
          yield "first";
          void Promise.reject("loose");
          yield "second";
        },
      }),
      good,
    ]);
    const blamed = new Promise<boolean>((done) => process.once("unhandledRejection", (error) => done(k.late(error))));
    const stream = k.fs.stream("/bad")[Symbol.asyncIterator]();
    await stream.next();
    expect(await blamed).toBe(true);
    expect(stateOf(k, "bad").error).toBe("late error: loose");
    await stream.next().catch(() => {});
  });

  test("that belongs to no plugin is nobody's: the program decides", async () => {
    const k = await started([good]);
    expect(k.late("whose?")).toBe(false);
    expect(stateOf(k, "good").state).toBe("running");
  });

  test("where stack and context name two, stops nobody, and both say so", async () => {
    // The plugin control has a folder of its own; the context is that of `bad`.
    const k = await started([badFile({ read: () => "x" }), control()]);
    const error = new Error("whose?");
    const folder = new URL("../../plugins/control", import.meta.url).pathname;
    error.stack = `Error: whose?\n    at tick (${folder}/index.ts:1:1)`;
    expect(late(k, "bad", error)).toBe(true);
    await settled();
    for (const name of ["bad", "control"])
      expect(stateOf(k, name)).toEqual({ state: "running", error: "late error, of control or bad: whose?" });
  });

  test("is given to the hook fault with plugin and place", async () => {
    const { fault } = await import("#core");
    const seen: string[] = [];
    const watch = plug("watch", ({ on }) => on(fault, (plugin, where) => void seen.push(`${plugin}: ${where}`)));
    const k = await started([watch, badFile({ read: boom })]);
    await failure(() => k.fs.read("/bad"));
    late(k, "bad");
    expect(seen).toEqual(["bad: read /bad", "bad: late error"]);
  });
});

test("a required plugin that fails aborts the start, and its error is the start's", async () => {
  const k = kernelOf([good, plug("guard", boom, { required: true })]);
  expect(await failure(() => k.start())).toBe("guard: boom");
  expect(stateOf(k, "good").state).toBe("stopped");
});

test("a late error of a required plugin leaves it where it is, and asks for the end", async () => {
  const k = await started([good, plug("guard", ({ on }) => on(Gate, () => ({ block: "no" })), { required: true })]);
  const asked = new Promise<string>((done) => k.onStop(done));
  expect(late(k, "guard")).toBe(true);
  expect(await asked).toBe("guard: a required plugin failed");
  expect(await k.call(Gate)).toEqual({ block: "no" });
});

test("an undo that fails does not keep others from theirs", async () => {
  const k = createKernel({ plugins: [plug("a", ({ defer }) => defer(boom)), plug("b", ({ defer }) => defer(boom))] });
  await k.start();
  await k.close();
  expect(k.status().map(({ error }) => error)).toEqual(["stop: boom", "stop: boom"]);
});
