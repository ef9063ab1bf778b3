import type { Base, LeafSpec } from "ollie/tree";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { NineError } from "#core";
import { failure } from "../kit.ts";
import { fileOf, stateOf } from "./open.ts";

const wrong = (spec: unknown) => spec as LeafSpec<Base>;
const throws = (error: unknown) => () => {
  throw error;
};
const never = () => new Promise<never>(() => {});

describe("what a handler does wrong stays within the guard", () => {
  const kinds: [string, (result: () => unknown) => LeafSpec<Base>, "read" | "write" | "close"][] = [
    ["read", (result) => wrong({ doc: "x", read: result }), "read"],
    ["stream", (result) => wrong({ doc: "x", stream: result }), "read"],
    ["blockOnce", (result) => wrong({ doc: "x", blockOnce: result }), "read"],
    ["request", (result) => wrong({ doc: "x", request: result }), "read"],
    ["rdwr", (result) => wrong({ doc: "x", rdwr: result }), "write"],
    ["write", (result) => wrong({ doc: "x", write: result }), "write"],
    ["commit", (result) => wrong({ doc: "x", commit: "close", write: result }), "close"],
  ];
  const act = async (spec: LeafSpec<Base>, at: "read" | "write" | "close", options = {}) => {
    const one = fileOf(spec, options).open({ read: at === "read", write: at !== "read" });
    if (at === "read") return one.read();
    if (at === "write") return one.write("x");
    await one.write("x");
    return one.close();
  };
  const results: [string, () => unknown, string][] = [
    ["a throw", throws(new Error("broke")), "broke"],
    ["a thrown text", throws("broke"), "broke"],
    ["a thrown undefined", throws(undefined), "undefined was thrown"],
    ["a rejection", () => Promise.reject(new Error("broke")), "broke"],
    ["a rejected null", () => Promise.reject(null), "null was thrown"],
    // biome-ignore lint/suspicious/noThenProperty: a broken one is the case
    ["a thenable that throws", () => ({ then: throws(new Error("broke")) }), "broke"],
  ];
  for (const [what, result, message] of results)
    test.each(kinds)(`${what} in %s is that message's error`, async (_kind, make, at) => {
      const reports: string[] = [];
      const report = (plugin: string, path: string) => void reports.push(`${plugin} ${path}`);
      expect(await failure(() => act(make(result), at, { report }))).toMatch(
        new RegExp(`^tree: \\w+ /file: ${message}$`),
      );
      expect(reports[0]).toMatch(/^tree \w+ \/file$/);
    });

  const types: [string, () => unknown, RegExp][] = [
    ["a number", () => 5, /gave number, not text/],
    ["nothing", () => undefined, /gave undefined, not text/],
    ["null", () => null, /gave null, not text/],
    ["a promise of an object", async () => ({}), /gave object, not text/],
  ];
  for (const [what, result, message] of types)
    test.each(kinds.filter(([kind]) => ["read", "blockOnce", "request", "rdwr"].includes(kind)))(
      `${what} in place of text is an error of %s`,
      async (_kind, make, at) => {
        expect(await failure(() => act(make(result), at))).toMatch(message);
      },
    );

  const iterator = (next: () => unknown) => () => ({ [Symbol.asyncIterator]: () => ({ next }) });
  test.each<[string, () => unknown]>([
    ["a text", () => "text"],
    ["nothing", () => undefined],
    ["a list", () => ["x"]],
    ["a promise of nothing", async () => undefined],
    ["an iterator that yields numbers", iterator(async () => ({ done: false, value: 5 }))],
    ["an iterator that yields null", iterator(async () => ({ done: false, value: null }))],
    ["an iterator whose next throws", iterator(throws(new Error("broke")))],
    ["an iterator whose next gives nothing", iterator(() => undefined)],
  ])("a stream that gives %s fails its reads", async (_what, result) => {
    const one = fileOf(wrong({ doc: "x", stream: result })).open();
    expect(await failure(() => one.read())).toMatch(/^tree: stream \/file: /);
    expect(await stateOf(one.close())).toBeUndefined();
  });

  test("an iterator that is not a promise's is taken as well", async () => {
    let left = 2;
    const next = () => ({ done: left === 0, value: `${left--}` });
    const one = fileOf(wrong({ doc: "x", stream: iterator(next) })).open();
    expect([await one.read(), await one.read(1), await one.read(2)]).toEqual(["2", "1", ""]);
  });

  test.each(kinds.filter(([kind]) => ["read", "rdwr", "write", "commit"].includes(kind)))(
    "%s that never settles fails at its time limit, and its signal aborts",
    async (_kind, make, at) => {
      let signal: AbortSignal | undefined;
      const spec = make(never);
      const handler = (c: Base) => {
        signal = c.signal;
        return never();
      };
      for (const kind of ["read", "write", "rdwr"] as const) if (spec[kind]) spec[kind] = handler as never;
      expect(await failure(() => act(spec, at, { handlerLimit: 5 }))).toMatch(/^tree: \w+ \/file: no answer in 5 ms$/);
      expect(signal?.aborted).toBe(true);
    },
  );

  test("a clock that is set does not bring the time limit nearer", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "Date", "performance"] });
    onTestFinished(() => void vi.useRealTimers());
    let answer = (_: string) => {};
    const read = () =>
      new Promise<string>((done) => {
        answer = done;
      });
    const { open } = fileOf({ doc: "x", read }, { handlerLimit: 5000 });
    const first = open().read();
    vi.setSystemTime(Date.now() + 3_600_000);
    vi.advanceTimersByTime(1000);
    answer("in time");
    expect(await first).toBe("in time");
    const second = failure(() => open().read());
    vi.advanceTimersByTime(6000);
    expect(await second).toMatch(/no answer in 5000 ms$/);
  });

  test("an answer after the time limit is dropped", async () => {
    let late = (_: string) => {};
    const { open } = fileOf(
      {
        doc: "x",
        read: () =>
          new Promise<string>((done) => {
            late = done;
          }),
      },
      { handlerLimit: 5 },
    );
    const one = open();
    await failure(() => one.read());
    late("late");
    const again = one.read();
    expect(await stateOf(again)).toBe("pending");
    late("in time");
    expect(await again).toBe("in time");
  });

  test("a NineError is the client's to read: no prefix, no report", async () => {
    const reports: unknown[] = [];
    const { open } = fileOf(
      { doc: "x", read: throws(new NineError("not today")) },
      { report: (...all) => void reports.push(all) },
    );
    expect(await failure(() => open().read())).toBe("not today");
    expect(reports).toEqual([]);
  });
});
