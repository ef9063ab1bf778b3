/** Replies: text, calls, ends. */
import { expect } from "vitest";
import type { BackendError } from "../../../plugins/backends/types.ts";
import { ask, kindOf, type Rig } from "./contract-kit.ts";

export function replies({ check, setup }: Rig): void {
  check("a reply is text, calls, usage and done, in this order", async () => {
    const { fake, backend } = await setup();
    fake.say({ text: "let me look", calls: [{ name: "shell", args: { command: "ls" } }] });
    const { events, text, calls, stop } = await ask(backend);
    const order = events.map(({ type }) => type).filter((type) => type !== "progress");
    expect([...new Set(order)]).toEqual(["text", "call", "usage", "done"]);
    expect([text, stop]).toEqual(["let me look", "tool_calls"]);
    expect(JSON.parse(calls[0]?.args ?? "")).toEqual({ command: "ls" });
  });

  check("H-001: parallel calls keep their own ids, names and arguments", async () => {
    const { fake, backend } = await setup();
    const two = [
      { name: "file_read", args: { path: "a" } },
      { name: "file_read", args: { path: "b" } },
    ];
    fake.say({ calls: two });
    const { calls } = await ask(backend);
    expect(calls.map((call) => [call.name, JSON.parse(call.args).path])).toEqual([
      ["file_read", "a"],
      ["file_read", "b"],
    ]);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
  });

  check("H-002: text and arguments survive one byte per write", async () => {
    const { fake, backend } = await setup();
    fake.say({ text: "日本語 🌍", calls: [{ name: "file_read", args: { path: "é🌍" } }], oneByte: true });
    const { text, calls, error } = await ask(backend);
    expect(error).toBeUndefined();
    expect(text).toBe("日本語 🌍");
    expect(JSON.parse(calls[0]?.args ?? "")).toEqual({ path: "é🌍" });
  });

  check("H-003: line ends may be CRLF", async () => {
    const { fake, backend } = await setup();
    fake.say({ text: "one two", crlf: true });
    expect(await ask(backend)).toMatchObject({ text: "one two", stop: "stop", error: undefined });
  });

  check("H-004: a call without arguments is given out with a text that means none", async () => {
    const { fake, backend } = await setup();
    fake.say({ calls: [{ name: "shell", args: "" }] });
    const { calls } = await ask(backend);
    expect(calls).toHaveLength(1);
    expect(["", "{}"]).toContain(calls[0]?.args.trim());
  });

  check("H-005: broken arguments are given out as they are", async () => {
    const { fake, backend } = await setup();
    fake.say({ calls: [{ name: "shell", args: '{"command":"touch ran",}<|endoftext|>' }] });
    expect((await ask(backend)).calls[0]?.args).toBe('{"command":"touch ran",}<|endoftext|>');
  });

  check("H-006: complete calls decide, not the label", async () => {
    const { fake, backend } = await setup();
    fake.say({ calls: [{ name: "shell", args: {} }], stop: "stop" });
    const { calls, stop } = await ask(backend);
    expect([calls.length, stop]).toEqual([1, "tool_calls"]);
  });

  check("H-007: a label that promises calls, and none: it is told, and nothing is made up", async () => {
    const { fake, backend } = await setup();
    fake.say({ stop: "calls" });
    const { calls, text, error } = await ask(backend);
    expect([calls.length, text, error]).toEqual([0, "", undefined]);
    expect(fake.requests).toHaveLength(1);
  });

  check("H-011: a call in which the output limit hit is marked, also where its arguments parse", async () => {
    const { fake, backend } = await setup();
    fake.say({
      calls: [
        { name: "shell", args: {} },
        { name: "shell", args: { path: "f.txt" } },
      ],
      stop: "length",
    });
    const { calls, stop } = await ask(backend);
    expect([calls.at(-1)?.cut, stop]).toEqual([true, "length"]);
  });

  for (const [status, value, wait] of [
    [429, { "retry-after": "3" }, 3000],
    [429, { "retry-after-ms": "1500" }, 1500],
    [529, { "retry-after": "2" }, 2000],
    [503, { "retry-after": "2" }, 2000],
    [429, { "retry-after": "0" }, undefined],
    [429, { "retry-after": "-5" }, undefined],
    [429, { "retry-after": "soon" }, undefined],
  ] as const)
    check(`H-016: ${status} with ${JSON.stringify(value)}`, async () => {
      const { fake, backend } = await setup();
      fake.fail(status, { message: "slow down" }, value);
      const outcome = await ask(backend);
      expect(kindOf(outcome)).toBe(status === 429 ? "rateLimit" : "transient");
      expect((outcome.error as BackendError).retryAfterMs).toBe(wait);
      expect(fake.requests).toHaveLength(1);
    });
}
