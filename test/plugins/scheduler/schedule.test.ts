import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { ToolScope } from "#plugins/scheduler";
import { schedule } from "../../../plugins/scheduler/schedule.ts";

/** Runs jobs and writes down when each starts and ends: `+a`, `-a`. */
function recorder() {
  const log: string[] = [];
  const job = (name: string, scope: ToolScope, resource?: string, ms = 10) => ({
    scope,
    ...(resource === undefined ? {} : { resource }),
    async run() {
      log.push(`+${name}`);
      await sleep(ms);
      log.push(`-${name}`);
      return name;
    },
  });
  const all = (jobs: ReturnType<typeof job>[], signal = new AbortController().signal) =>
    Promise.all(schedule(jobs, signal, () => "not started"));
  /** Whether the two were running at the same time. */
  const overlap = (a: string, b: string) =>
    log.indexOf(`+${a}`) < log.indexOf(`-${b}`) && log.indexOf(`+${b}`) < log.indexOf(`-${a}`);
  return { log, job, all, overlap };
}

describe("schedule", () => {
  test("reads run side by side and start in call order", async () => {
    const { log, job, all } = recorder();
    expect(await all([job("a", "read"), job("b", "read"), job("c", "read")])).toEqual(["a", "b", "c"]);
    expect(log.slice(0, 3)).toEqual(["+a", "+b", "+c"]);
  });

  test("results are in call order, whoever ends first", async () => {
    const { log, job, all } = recorder();
    expect(await all([job("slow", "read", undefined, 40), job("fast", "read", undefined, 1)])).toEqual([
      "slow",
      "fast",
    ]);
    expect(log.indexOf("-fast")).toBeLessThan(log.indexOf("-slow"));
  });

  test("writes to one file run one after the other, to others beside it", async () => {
    const { log, job, all, overlap } = recorder();
    await all([job("n1", "write", "/n"), job("n2", "write", "/n"), job("m", "write", "/m")]);
    expect(overlap("n1", "n2")).toBe(false);
    expect(overlap("n1", "m")).toBe(true);
    expect(log.indexOf("-n1")).toBeLessThan(log.indexOf("+n2"));
    expect(log.slice(0, 2)).toEqual(["+n1", "+m"]);
  });

  test("a read does not wait for a write that waits", async () => {
    const { log, job, all } = recorder();
    await all([job("w1", "write", "/n"), job("w2", "write", "/n"), job("r", "read")]);
    expect(log.slice(0, 2)).toEqual(["+w1", "+r"]);
  });

  test("global waits for all before it and holds all behind it", async () => {
    const { log, job, all } = recorder();
    await all([job("r1", "read"), job("w", "write", "/n"), job("g", "global"), job("r2", "read"), job("r3", "read")]);
    expect(log.slice(4, 6)).toEqual(["+g", "-g"]);
    expect(new Set(log.slice(0, 4))).toEqual(new Set(["+r1", "+w", "-r1", "-w"]));
    expect(log.slice(6, 8)).toEqual(["+r2", "+r3"]);
  });

  test("a write without a resource is global", async () => {
    const { log, job, all } = recorder();
    await all([job("r", "read"), job("w", "write"), job("r2", "read")]);
    expect(log).toEqual(["+r", "-r", "+w", "-w", "+r2", "-r2"]);
  });

  test("after the abort nothing is started, what runs is waited for", async () => {
    const { log, job, all } = recorder();
    const stop = new AbortController();
    const results = all([job("g1", "global"), job("g2", "global"), job("r", "read")], stop.signal);
    await sleep(1);
    stop.abort();
    expect(await results).toEqual(["g1", "not started", "not started"]);
    expect(log).toEqual(["+g1", "-g1"]);
  });

  test("an abort beforehand starts nothing", async () => {
    const { log, job, all } = recorder();
    expect(await all([job("r", "read")], AbortSignal.abort())).toEqual(["not started"]);
    expect(log).toEqual([]);
  });

  test("a job that throws against the rules does not hold up the next", async () => {
    const { job } = recorder();
    const bad = { scope: "global" as const, run: () => Promise.reject(new Error("broken")) };
    const [first, second] = schedule([bad, job("b", "global")], new AbortController().signal, () => "not started");
    await expect(first).rejects.toThrow("broken");
    expect(await second).toBe("b");
  });

  test("what is waited for grows with the calls, not with their square", async () => {
    let waits = 0;
    const { allSettled } = Promise;
    vi.spyOn(Promise, "allSettled").mockImplementation(((values: Promise<unknown>[]) => {
      waits += values.length;
      return allSettled.call(Promise, values);
    }) as never);
    onTestFinished(() => void vi.restoreAllMocks());
    const scopes = ["global", "read", "write"] as const;
    const jobs = Array.from({ length: 3000 }, (_, n) => {
      const scope = scopes[Math.floor(n / 10) % 3] as ToolScope;
      return { scope, ...(scope === "write" ? { resource: `${n % 2}` } : {}), run: async () => n };
    });
    const results = await Promise.all(schedule(jobs, new AbortController().signal, () => -1));
    expect(results).toEqual(jobs.map((_, n) => n));
    expect(waits).toBeLessThan(3 * jobs.length);
  });
});
