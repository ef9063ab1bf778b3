/** Failures: of the provider, of the network, of patience. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type { BackendError } from "../../../plugins/backends/types.ts";
import { ask, hello, key, kindOf, type Rig } from "./contract-kit.ts";

export function failures({ check, setup, idle }: Rig): void {
  check("H-014: an error in the stream is transient, with the provider's words, and no done", async () => {
    const { fake, backend } = await setup();
    fake.say({ text: "Hel", fault: "error" });
    const outcome = await ask(backend);
    expect(kindOf(outcome)).toBe("transient");
    expect((outcome.error as Error).message).toMatch(/overloaded/i);
    expect(outcome.stop).toBeUndefined();
  });

  for (const fault of ["eof", "reset", "malformed"] as const)
    check(`H-015: a stream that ends in ${fault} is a broken transport: no done, and no calls`, async () => {
      const { fake, backend } = await setup();
      fake.say({ text: "I will now", calls: [{ name: "shell", args: '{"comm' }], fault });
      const outcome = await ask(backend);
      expect(kindOf(outcome)).toBe("transient");
      expect([outcome.stop, outcome.calls.length]).toEqual([undefined, 0]);
    });

  check("H-016: a wait until a date", async () => {
    const { fake, backend } = await setup();
    fake.fail(429, { message: "slow down" }, { "retry-after": new Date(Date.now() + 60_000).toUTCString() });
    const { retryAfterMs = 0 } = (await ask(backend)).error as BackendError;
    expect(retryAfterMs).toBeGreaterThan(50_000);
    expect(retryAfterMs).toBeLessThanOrEqual(60_000);
  });

  for (const [status, message, kind] of [
    [401, "no such key", "auth"],
    [403, "not for you", "auth"],
    [402, "insufficient credits", "quota"],
    [413, "body too large", "overflow"],
    [400, "prompt is too long: 9 tokens > 8 maximum", "overflow"],
    [400, "no such field", "badRequest"],
    [500, "oops", "transient"],
    [503, "busy", "transient"],
    [529, "overloaded", "transient"],
  ] as const)
    check(`${status === 402 ? "H-017: " : ""}${status} ${JSON.stringify(message)} is ${kind}, asked once`, async () => {
      const { fake, backend } = await setup();
      fake.fail(status, { message });
      const outcome = await ask(backend);
      expect(kindOf(outcome)).toBe(kind);
      expect((outcome.error as BackendError).status).toBe(status);
      expect((outcome.error as Error).message).toContain(message);
      expect(fake.requests).toHaveLength(1);
    });

  check("a page of a proxy is an error of one line, whatever its status", async () => {
    const { fake, backend } = await setup();
    const page = "<html><head><title>Welcome</title></head>\n<body>hi</body></html>";
    fake.page(page);
    fake.fail(502, { page });
    for (const kind of ["badRequest", "transient"] as const) {
      const outcome = await ask(backend);
      expect(kindOf(outcome)).toBe(kind);
      expect((outcome.error as Error).message).toMatch(/Welcome/);
      expect((outcome.error as Error).message).not.toMatch(/[\n<]/);
    }
  });

  check("an empty body is a broken transport", async () => {
    const { fake, backend } = await setup();
    fake.page("");
    expect(kindOf(await ask(backend))).toBe("transient");
  });

  check("H-019: silence before the first byte", async () => {
    const { fake, backend } = await setup();
    fake.say({ fault: "stall" });
    expect(kindOf(await ask(backend))).toBe("transient");
    expect(await fake.requests[0]?.closed).toBe(true);
  });

  check("H-019: silence in mid stream", async () => {
    const { fake, backend } = await setup();
    fake.say({ text: "a", fault: "stall" });
    const outcome = await ask(backend);
    expect([outcome.text, kindOf(outcome)]).toEqual(["a", "transient"]);
    expect(await fake.requests[0]?.closed).toBe(true);
  });

  for (const [when, said] of [
    ["before the first byte", {}],
    ["in mid stream", { text: "a" }],
  ] as const)
    check(`an abort ${when} throws the signal's reason and closes the socket`, async () => {
      const { fake, backend } = await setup();
      fake.say({ ...said, fault: "stall" });
      const stop = new AbortController();
      const reason = new Error("stopped");
      const pending = ask(backend, hello, stop.signal);
      const request = await fake.seen(1);
      setTimeout(() => stop.abort(reason), 30);
      expect((await pending).error).toBe(reason);
      expect(await request.closed).toBe(true);
    });

  check("a reader that leaves an endless stream closes it", async () => {
    const { fake, backend } = await setup();
    fake.say({ text: "a", fault: "endless" });
    for await (const event of backend.chatStream(hello, [], {}, new AbortController().signal))
      if (event.type === "text") break;
    expect(await fake.requests[0]?.closed).toBe(true);
  });

  check("a slow reader is not taken for a silent provider", async () => {
    const { fake, backend } = await setup();
    fake.say({ text: "abcdef" });
    let text = "";
    for await (const event of backend.chatStream(hello, [], {}, new AbortController().signal)) {
      if (event.type === "text") text += event.text;
      await sleep(idle / 2);
    }
    expect(text).toBe("abcdef");
  });

  check("a key that the provider repeats is not in the error", async () => {
    const { fake, backend } = await setup();
    fake.fail(401, { message: `Incorrect API key provided: ${key}` });
    const { error } = await ask(backend);
    expect((error as Error).message).toMatch(/Incorrect API key/);
    expect(inspected(error)).not.toContain(key);
  });

  check("requests at one time do not mix", async () => {
    const { fake, backend } = await setup();
    for (let n = 0; n < 4; n++) fake.say({ text: "abc", calls: [{ name: "shell", args: { n: 1 } }] });
    const all = await Promise.all([0, 1, 2, 3].map(() => ask(backend)));
    for (const { text, calls } of all) expect([text, calls.length]).toEqual(["abc", 1]);
  });
}

/** All that an error shows, causes too. */
function inspected(error: unknown): string {
  const own = Object.getOwnPropertyNames(error ?? {}).map((name) => String((error as Record<string, unknown>)[name]));
  const cause = (error as { cause?: unknown } | undefined)?.cause;
  return [...own, ...(cause === undefined ? [] : [inspected(cause)])].join("\n");
}
