import { describe, expect, test } from "vitest";
import { Root, token } from "#core";
import { kernelOf, plug, started, stateOf } from "./kit.ts";

const A = token<number>("a");
const B = token<number>("b");
const PerRoom = Root.instances<object>()("room/{name}", "room");

/** Names of plugins in the order in which they were set up. */
async function setups(...plugins: [name: string, rest: Parameters<typeof plug>[2]][]): Promise<string> {
  const seen: string[] = [];
  const uses = plugins.map(([name, rest = {}]) =>
    plug(
      name,
      ({ provide }) => {
        seen.push(name);
        for (const key of rest.provides ?? []) if (key.kind === "token") provide(key, 1);
      },
      rest,
    ),
  );
  await started(uses);
  return seen.join(" ");
}

const codeOf = async (...uses: Parameters<typeof kernelOf>[0]) => {
  const error = await kernelOf(uses)
    .start()
    .catch((cause) => cause);
  return `${error.code} ${error.message}`;
};

describe("plugins are set up", () => {
  test("in the order of the config where nothing says otherwise", async () => {
    expect(await setups(["c", {}], ["a", {}], ["b", {}])).toBe("c a b");
  });

  test("after what they need, want and name", async () => {
    expect(await setups(["x", { needs: [A] }], ["y", {}], ["z", { provides: [A] }])).toBe("z x y");
    expect(await setups(["x", { wants: [A] }], ["y", { provides: [A] }])).toBe("y x");
    expect(await setups(["x", { after: ["y", "nobody"] }], ["y", {}])).toBe("y x");
    expect(await setups(["x", { needs: [PerRoom] }], ["y", { provides: [PerRoom] }])).toBe("y x");
  });

  test("stable: those that nothing binds keep their places", async () => {
    expect(await setups(["p", {}], ["x", { needs: [A] }], ["q", {}], ["a", { provides: [A] }], ["r", {}])).toBe(
      "p a x q r",
    );
  });

  test("also where a plugin needs what it provides itself", async () => {
    expect(await setups(["x", { needs: [A], provides: [A] }])).toBe("x");
  });
});

describe("faults of the order", () => {
  test("a cycle is named with its plugins", async () => {
    const uses = [
      plug("a", () => {}, { needs: [B], provides: [A] }),
      plug("b", () => {}, { needs: [A], provides: [B] }),
    ];
    expect(await codeOf(...uses)).toBe("E_CYCLE plugin cycle: a -> b -> a");
    const ring = ["x", "y", "z"].map((name, i, all) => plug(name, () => {}, { after: [all[(i + 1) % 3] as string] }));
    expect(await codeOf(plug("free"), ...ring)).toBe("E_CYCLE plugin cycle: x -> y -> z -> x");
  });

  test("a plugin twice", async () => {
    expect(await codeOf(plug("a"), plug("a"))).toBe("E_CONFLICT plugin a stands twice in the config");
  });

  test("a scope provided twice", async () => {
    const of = (name: string) => plug(name, () => {}, { provides: [PerRoom] });
    expect(await codeOf(of("a"), of("b"))).toBe("E_PROVIDED b: scope /room/{name} is already provided by a");
  });
});

describe("what can not run is blocked, and the others run", () => {
  test("in a chain, each with its reason", async () => {
    const k = await started([
      plug("c", () => {}, { needs: [B] }),
      plug("b", () => {}, { needs: [A], provides: [B] }),
      plug("free"),
    ]);
    expect(["b", "c", "free"].map((name) => stateOf(k, name))).toEqual([
      { state: "blocked", error: "b: needs service a, which no enabled plugin provides" },
      { state: "blocked", error: "c: needs service b of b, which is blocked" },
      { state: "running", error: undefined },
    ]);
  });

  test("behind a plugin that failed", async () => {
    const bad = plug(
      "bad",
      () => {
        throw new Error("broken");
      },
      { provides: [A] },
    );
    const k = await started([
      bad,
      plug("b", ({ provide }) => provide(B, 1), { needs: [A], provides: [B] }),
      plug("c", () => {}, { needs: [B] }),
      plug("d", () => {}, { wants: [A] }),
    ]);
    expect(["bad", "b", "c", "d"].map((name) => stateOf(k, name))).toEqual([
      { state: "failed", error: "setup: broken" },
      { state: "blocked", error: "b: needs service a of bad, which failed" },
      { state: "blocked", error: "c: needs service b of b, which is blocked" },
      { state: "running", error: undefined },
    ]);
  });

  test("of a plugin that is off", async () => {
    const off = plug("a", () => {}, { provides: [A] }, { off: true });
    const k = await started([off, plug("x", () => {}, { needs: [A] })]);
    expect(stateOf(k, "a").state).toBe("off");
    expect(stateOf(k, "x").error).toBe("x: needs service a, which no enabled plugin provides");
  });

  test.each([
    ["lacks a service", plug("guard", () => {}, { needs: [A], required: true }), "E_NEEDS", "guard: needs service a"],
    [
      "fails",
      plug(
        "guard",
        () => {
          throw new Error("broken");
        },
        { required: true },
      ),
      "E_START",
      "guard: broken",
    ],
  ])(
    "but a required plugin that %s stops the start, and nothing is left running",
    async (_what, guard, code, message) => {
      let undone = 0;
      const other = plug("other", ({ defer }) => defer(() => void undone++));
      const k = kernelOf([other, guard]);
      const error = await k.start().catch((cause) => cause);
      expect(error.code).toBe(code);
      expect(error.message).toContain(message);
      expect(k.status().map(({ state }) => state)).not.toContain("running");
      expect(undone).toBe(code === "E_NEEDS" ? 0 : 1);
    },
  );
});
