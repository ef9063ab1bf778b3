import { describe, expect, test } from "vitest";
import { token } from "#core";
import { failure, kernelOf, plug, started, stateOf } from "./kit.ts";

interface Clock {
  now(): number;
}
const Clock = token<Clock>("clock");

describe("a service", () => {
  const clock = plug("clock", ({ provide }) => provide(Clock, { now: () => 7 }), { provides: [Clock] });

  test("is given to who needs it, whatever the order in the config", async () => {
    const seen: number[] = [];
    const user = plug("user", ({ use }) => void seen.push(use(Clock).now()), { needs: [Clock] });
    const k = await started([user, clock]);
    expect(seen).toEqual([7]);
    expect(k.use(Clock)?.now()).toBe(7);
    expect(k.status()[1]).toMatchObject({ provides: ["clock"] });
  });

  test("that nobody provides is undefined for who only wants it", async () => {
    const seen: unknown[] = [];
    const user = plug("user", ({ tryUse }) => void seen.push(tryUse(Clock)?.now()), { wants: [Clock] });
    await started([user]);
    await started([user, clock]);
    expect(seen).toEqual([undefined, 7]);
  });

  test.each(["use", "tryUse"] as const)("that was not declared can not be had by %s", async (how) => {
    const k = await started([clock, plug("user", (api) => void api[how](Clock))]);
    expect(stateOf(k, "user")).toEqual({
      state: "failed",
      error: "setup: user: uses service clock without declaring it in needs or wants",
    });
  });

  test("that was not declared can not be provided", async () => {
    const k = await started([plug("sly", ({ provide }) => provide(Clock, { now: () => 0 }))]);
    expect(stateOf(k, "sly").error).toBe("setup: sly: provides service clock without declaring it");
    expect(k.use(Clock)).toBeUndefined();
  });

  test("has one provider: a second is an error that names both", async () => {
    const other = plug("other", () => {}, { provides: [Clock] });
    const error = await kernelOf([clock, other])
      .start()
      .catch((cause) => cause);
    expect([error.code, error.message]).toEqual(["E_PROVIDED", "other: service clock is already provided by clock"]);
  });

  test("provided twice by one plugin is an error, too", async () => {
    const setup: Parameters<typeof plug>[1] = ({ provide }) => {
      for (const n of [0, 1]) provide(Clock, { now: () => n });
    };
    const twice = plug("twice", setup, { provides: [Clock] });
    const k = await started([twice]);
    expect(stateOf(k, "twice").error).toBe("setup: twice: service clock is already provided by twice");
    expect(k.use(Clock)).toBeUndefined();
  });

  test("goes with its provider", async () => {
    const k = await started([clock]);
    await k.close();
    expect(k.use(Clock)).toBeUndefined();
  });

  test("that was announced and not provided fails the one who promised it", async () => {
    const liar = plug("liar", () => {}, { provides: [Clock] });
    const k = await started([liar, plug("user", ({ use }) => void use(Clock), { needs: [Clock] })]);
    expect(stateOf(k, "liar")).toEqual({
      state: "failed",
      error: "setup: liar: its setup did not provide service clock",
    });
    expect(stateOf(k, "user").state).toBe("blocked");
  });

  test("of two tokens with one name are two services", async () => {
    const Other = token<Clock>("clock");
    await started([clock]);
    expect(
      await failure(() =>
        kernelOf([clock, plug("user", ({ use }) => void use(Other), { needs: [Other], required: true })]).start(),
      ),
    ).toBe("user: needs service clock, which no enabled plugin provides");
  });
});
