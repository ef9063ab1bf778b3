import { describe, expect, test } from "vitest";
import { type Block, type Hook, type HookCall, hook } from "#core";
import { hooks as makeHooks } from "../../core/hooks.ts";
import { late, plug, settled, started, stateOf } from "./kit.ts";

function table() {
  const reports: string[] = [];
  const bus = makeHooks(
    (plugin, where, error) =>
      void reports.push(`${plugin} ${where}: ${error instanceof Error ? error.message : error}`),
    (_plugin, fn) => fn(),
  );
  let rank = 0;
  const on = (key: Parameters<typeof bus.tap>[0], name: string, fn: (...args: never[]) => unknown, order = {}) =>
    bus.tap(key, name, rank++, fn, order);
  return { bus, on, reports };
}

const broken = () => {
  throw new Error("broken");
};
const rejects = () => Promise.reject(new Error("broken"));
const never = () => new Promise<never>(() => {});
const Ev = hook.observe<[n: number]>("ev", { doc: "x" });
const Series = hook.series<[n: number]>("series", { doc: "x" });
const Parallel = hook.parallel<[n: number]>("parallel", { doc: "x" });
const Text = hook.transform<[text: string, n: number]>("text", { doc: "x" });
const Gate = hook.gate<[n: number]>("gate", { doc: "x", onThrow: "block" });
const Open = hook.gate<[n: number]>("open", { doc: "x", onThrow: "pass" });

describe("a hook without taps", () => {
  test("costs no promise: it gives its value at once", () => {
    const { bus } = table();
    expect([bus.call(Ev, 1), bus.call(Series, 1), bus.call(Parallel, 1), bus.call(Gate, 1)]).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
    expect(bus.call(Text, "as it was", 1)).toBe("as it was");
  });

  test("does so again when the last tap has gone", () => {
    const { bus, on } = table();
    on(Text, "a", () => "other")();
    expect(bus.call(Text, "as it was", 1)).toBe("as it was");
  });
});

describe("observe", () => {
  test("is synchronous; a throw and a rejection are reported, the rest go on", async () => {
    const { bus, on, reports } = table();
    const seen: number[] = [];
    on(Ev, "a", broken);
    on(Ev, "b", rejects);
    on(Ev, "c", ((n: number) => void seen.push(n)) as never);
    bus.call(Ev, 7);
    expect(seen).toEqual([7]);
    await settled();
    expect(reports).toEqual(["a hook ev: broken", "b hook ev: broken"]);
  });
});

describe("series", () => {
  test("runs one after the other; a throw is reported, the rest go on", async () => {
    const { bus, on, reports } = table();
    const seen: string[] = [];
    on(Series, "a", async () => {
      seen.push("a in");
      await settled();
      seen.push("a out");
    });
    on(Series, "b", rejects);
    on(Series, "c", () => void seen.push("c"));
    await bus.call(Series, 1);
    expect(seen).toEqual(["a in", "a out", "c"]);
    expect(reports).toEqual(["b hook series: broken"]);
  });
});

describe("parallel", () => {
  test("starts all at once and waits for all; a throw is reported", async () => {
    const { bus, on, reports } = table();
    const seen: string[] = [];
    on(Parallel, "a", async () => {
      seen.push("a in");
      await settled();
      seen.push("a out");
    });
    on(Parallel, "b", broken);
    on(Parallel, "c", () => void seen.push("c"));
    await bus.call(Parallel, 1);
    expect(seen).toEqual(["a in", "c", "a out"]);
    expect(reports).toEqual(["b hook parallel: broken"]);
  });
});

describe("transform", () => {
  test("hands the value on; undefined and a throw keep it", async () => {
    const { bus, on, reports } = table();
    on(Text, "a", ((text: string, n: number) => `${text}${n}`) as never);
    on(Text, "b", () => undefined);
    on(Text, "c", broken);
    on(Text, "d", (async (text: string) => `${text}!`) as never);
    expect(await bus.call(Text, "x", 1)).toBe("x1!");
    expect(reports).toEqual(["c hook text: broken"]);
  });
});

describe("gate", () => {
  test("the first answer wins, and later taps do not run", async () => {
    const { bus, on } = table();
    let ran = false;
    on(Gate, "a", () => undefined);
    on(Gate, "b", async () => ({ block: "b says no" }));
    on(Gate, "c", () => {
      ran = true;
    });
    expect(await bus.call(Gate, 1)).toEqual({ block: "b says no" });
    expect(ran).toBe(false);
  });

  test.each([
    ["throws", broken, "broken"],
    ["rejects", rejects, "broken"],
    ["answers true", () => true, "gave boolean, not an answer"],
    ["answers null", () => null, "gave null, not an answer"],
    ["answers a text", async () => "no", "gave string, not an answer"],
  ])("a tap that %s fails closed under policy block, and is as if absent under pass", async (_what, fn, why) => {
    const { bus, on, reports } = table();
    on(Gate, "a", fn);
    on(Open, "a", fn);
    on(Open, "b", () => ({ block: "b" }));
    expect(await bus.call(Gate, 1)).toEqual({ block: `a: hook gate failed: ${why}` });
    expect(await bus.call(Open, 1)).toEqual({ block: "b" });
    expect(reports).toEqual([`a hook gate: ${why}`, `a hook open: ${why}`]);
  });

  test("an answer of the hook's own shape goes to the caller as it is", async () => {
    interface Next extends Block {
      prompt?: string;
    }
    const End = hook.gate<[], Next>("end", { doc: "x", onThrow: "pass" });
    const { bus, on } = table();
    on(End, "a", () => ({ block: "", prompt: "go on" }));
    expect(await bus.call(End)).toEqual({ block: "", prompt: "go on" });
  });
});

describe("order", () => {
  const names = (taps: [string, object?][]) => {
    const { bus, on } = table();
    for (const [name, order] of taps) on(Ev, name, () => {}, order);
    return bus.taps(Ev).join(" ");
  };
  test("of the config, then stage, then before", () => {
    expect(names([["a"], ["b"], ["c"]])).toBe("a b c");
    expect(names([["a", { stage: 100 }], ["b"], ["c", { stage: -1 }]])).toBe("c b a");
    expect(names([["a"], ["b"], ["c", { before: "a" }]])).toBe("c a b");
    expect(names([["a"], ["b", { before: "c" }], ["c", { before: ["a"] }]])).toBe("b c a");
    expect(names([["a"], ["b"], ["c", { before: ["b", "nobody"] }]])).toBe("a c b");
  });

  test("before wins over stage, and a ring of befores ends", () => {
    expect(names([["a"], ["b", { stage: 9, before: "a" }]])).toBe("b a");
    expect(
      names([
        ["a", { before: "b" }],
        ["b", { before: "a" }],
      ])
        .split(" ")
        .sort(),
    ).toEqual(["a", "b"]);
    expect(names([["a", { before: "a" }], ["b"]])).toBe("a b");
  });

  test("of plugins is that of the config, not that of their setups", async () => {
    const seen: string[] = [];
    const tap = (name: string, rest = {}) => plug(name, ({ on }) => on(Ev, () => void seen.push(name)), rest);
    const k = await started([tap("first", { after: ["second"] }), tap("second")]);
    k.call(Ev, 1);
    expect(seen).toEqual(["first", "second"]);
  });
});

describe("a call", () => {
  test("runs the taps that were there at its start", async () => {
    const { bus, on } = table();
    const seen: string[] = [];
    let undo = () => {};
    on(Series, "a", () => {
      seen.push("a");
      undo();
      on(Series, "new", () => void seen.push("new"));
    });
    undo = on(Series, "b", () => void seen.push("b"));
    await bus.call(Series, 1);
    expect(seen).toEqual(["a", "b"]);
    await bus.call(Series, 1);
    expect(seen).toEqual(["a", "b", "a", "new"]);
  });

  test.each<["gate" | "transform" | "series" | "parallel"]>([["gate"], ["transform"], ["series"], ["parallel"]])(
    "of a %s has a time limit: its signal aborts, the tap is reported, the call goes on",
    async (kind) => {
      const { bus, on, reports } = table();
      const slow = {
        gate: () => hook.gate<[n: number]>("slow", { doc: "x", limit: 5, onThrow: "block" }),
        transform: () => hook.transform<[n: number]>("slow", { doc: "x", limit: 5 }),
        series: () => hook.series<[n: number]>("slow", { doc: "x", limit: 5 }),
        parallel: () => hook.parallel<[n: number]>("slow", { doc: "x", limit: 5 }),
      }[kind]() as Hook<"transform", [number], number>;
      let signal: AbortSignal | undefined;
      on(slow, "a", ((_n: number, call: HookCall) => {
        signal = call.signal;
        return never();
      }) as never);
      const result = await bus.call(slow, 3);
      const why = "a: hook slow did not answer in 5 ms";
      expect(result).toEqual({ gate: { block: `a: hook slow failed: ${why}` }, transform: 3 }[kind as string]);
      expect(signal?.aborted).toBe(true);
      expect(reports).toEqual([`a hook slow: ${why}`]);
    },
  );

  test("is visible while it is under way", async () => {
    const { bus, on } = table();
    let go = () => {};
    on(
      Gate,
      "guard",
      () =>
        new Promise<void>((done) => {
          go = done;
        }),
    );
    const call = bus.call(Gate, 1);
    expect([...bus.inFlight].map(({ hook: name, plugin }) => `${plugin} ${name}`)).toEqual(["guard gate"]);
    go();
    await call;
    expect(bus.inFlight.size).toBe(0);
  });

  test("a hook with limit 0 waits as long as its tap does", async () => {
    const { bus, on } = table();
    const Patient = hook.gate<[]>("patient", { doc: "x", limit: 0, onThrow: "block" });
    let go = (_: Block) => {};
    on(
      Patient,
      "a",
      () =>
        new Promise<Block>((done) => {
          go = done;
        }),
    );
    const call = bus.call(Patient);
    await settled();
    go({ block: "at last" });
    expect(await call).toEqual({ block: "at last" });
  });
});

describe("a plugin's taps", () => {
  test("stand in its status and go when it stops; the call that runs them says their fault in its error", async () => {
    const guard = plug("guard", ({ on }) => on(Gate, broken));
    const k = await started([guard]);
    expect(k.status()[0]).toMatchObject({ taps: ["gate"] });
    expect(await k.call(Gate, 1)).toEqual({ block: "guard: hook gate failed: broken" });
    expect(stateOf(k, "guard")).toEqual({ state: "running", error: "hook gate: broken" });
    expect(late(k, "guard")).toBe(true);
    await settled();
    expect(k.call(Gate, 1)).toBeUndefined();
    expect(k.status()[0]?.taps).toEqual([]);
  });

  test("may be taken off by nobody else, and are called with the kernel's own hooks, too", async () => {
    const { fault, pluginState } = await import("#core");
    const seen: string[] = [];
    const watch = plug("watch", ({ on }) => {
      on(fault, (plugin, where) => void seen.push(`${plugin} ${where}`));
      on(pluginState, (name, state) => void seen.push(`${name} ${state}`));
      on(fault, broken);
    });
    const k = await started([watch, plug("bad", broken)]);
    expect(seen).toEqual(["watch running", "bad setup", "bad failed"]);
    expect(stateOf(k, "watch").error).toBe("hook fault: broken");
  });
});
