/**
 * What every backend owes, as tests: a third party's too. It takes a fake of the provider that is told in the terms below
 * what to answer, over real HTTP, and a backend that talks to it:
 *
 *   contractSuite("acme", async () => acmeFake(), (fake, options) => acmeBackend({ url: fake.url, ...options }));
 */
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import {
  type Backend,
  BackendError,
  type BackendErrorKind,
  type Message,
  type StreamEvent,
  type ToolSchema,
} from "../../../plugins/backends/types.ts";

/** A reply in no wire's terms: what it holds, and how it goes wrong. */
export interface Say {
  reasoning?: string;
  text?: string;
  /** `args` as text goes out as it is. */
  calls?: { id?: string; name: string; args: string | object }[];
  /** Default: as the calls demand. */
  stop?: "stop" | "calls" | "length";
  usage?: { fresh: number; cached: number; output: number };
  /** How it ends instead of orderly, behind what was said. `error`: one of the provider's, that says `overloaded`. */
  fault?: "eof" | "reset" | "stall" | "malformed" | "error" | "endless";
  /** One byte per write. */
  oneByte?: boolean;
  crlf?: boolean;
}

export interface ContractFake {
  /** Requests for chat: `raw` is the body, `closed` resolves when the exchange is over (true: the client left early). */
  readonly requests: readonly { raw: string; closed: Promise<boolean> }[];
  /** What a strict provider refused. */
  readonly complaints: readonly string[];
  say(reply: Say): void;
  /** A status with the provider's own error, or with a body as it is. */
  fail(status: number, body: { message: string } | { page: string }, headers?: Record<string, string>): void;
  /** A good status and this body. */
  page(body: string): void;
  /** What the list of models answers: rows of name and context, or a status. */
  models(rows: [name: string, context?: unknown][] | { status: number } | { page: string } | "stall"): void;
  seen(n: number): Promise<{ closed: Promise<boolean> }>;
  close(): Promise<void>;
}

export interface ContractOptions {
  /** The wire has no caching or no ids to test, or the like: names of tests to leave out, with the reason. */
  without?: Record<string, string>;
  /** Milliseconds of silence that count as the end. */
  idle?: number;
  /** The key that the backend is made with; errors are searched for it. */
  key?: string;
}

const key = "sk-contract-5f1e0c";
const hello: Message[] = [{ role: "user", content: "hello" }];
const tools: ToolSchema[] = ["shell", "file_read"].map((name) => ({
  name,
  description: "a tool",
  parameters: { type: "object", properties: { path: { type: "string" } } },
}));

interface Outcome {
  events: StreamEvent[];
  text: string;
  calls: Extract<StreamEvent, { type: "call" }>[];
  stop: string | undefined;
  error: unknown;
}

async function ask(backend: Backend, messages = hello, signal = new AbortController().signal): Promise<Outcome> {
  const events: StreamEvent[] = [];
  let error: unknown;
  try {
    for await (const event of backend.chatStream(messages, tools, {}, signal)) events.push(event);
  } catch (thrown) {
    error = thrown;
  }
  return {
    events,
    text: events.map((event) => (event.type === "text" ? event.text : "")).join(""),
    calls: events.filter((event) => event.type === "call"),
    stop: events.find((event) => event.type === "done")?.stop,
    error,
  };
}

const kindOf = ({ error }: Outcome): BackendErrorKind => {
  if (error instanceof BackendError) return error.kind;
  throw new Error(`expected a BackendError, got ${String(error)}`);
};

export function contractSuite<F extends ContractFake>(
  name: string,
  makeFake: () => Promise<F>,
  makeBackend: (fake: F, options: { idle: number; key: string }) => Backend,
  { without = {}, idle = 200 }: ContractOptions = {},
): void {
  const open: F[] = [];
  afterEach(async () => {
    for (const fake of open.splice(0)) await fake.close();
  });
  const setup = async () => {
    const fake = await makeFake();
    open.push(fake);
    return { fake, backend: makeBackend(fake, { idle, key }) };
  };
  const check = (title: string, run: () => Promise<void>) => {
    if (Object.hasOwn(without, title)) test.skip(`${title} (${without[title]})`, run);
    else test(title, run);
  };

  describe(`contract: ${name}`, () => {
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
      check(
        `${status === 402 ? "H-017: " : ""}${status} ${JSON.stringify(message)} is ${kind}, asked once`,
        async () => {
          const { fake, backend } = await setup();
          fake.fail(status, { message });
          const outcome = await ask(backend);
          expect(kindOf(outcome)).toBe(kind);
          expect((outcome.error as BackendError).status).toBe(status);
          expect((outcome.error as Error).message).toContain(message);
          expect(fake.requests).toHaveLength(1);
        },
      );

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

    check("H-102: input counts cached tokens, which are told too", async () => {
      const { fake, backend } = await setup();
      fake.say({ text: "a", usage: { fresh: 19, cached: 39_000, output: 10 } });
      const { events } = await ask(backend);
      const usage = events.find((event) => event.type === "usage")?.usage;
      expect(usage).toMatchObject({ input: 39_019, cachedInput: 39_000, output: 10 });
    });

    check("H-022: histories of other providers are legal: ids, thoughts, blanks, missing results", async () => {
      const { fake, backend } = await setup();
      fake.say({ text: "ok" });
      const shell = (id: string) => ({ id, name: "shell", args: {} });
      const outcome = await ask(backend, [
        { role: "system", content: "be brief" },
        { role: "assistant", content: "welcome" },
        { role: "user", content: " \n" },
        { role: "user", content: "go" },
        {
          role: "assistant",
          content: "\n\n",
          reasoning: [{ provider: "elsewhere", text: "hm", signature: "sig", data: { x: 1 } }],
          toolCalls: [shell("functions.shell:0"), shell("x".repeat(80))],
        },
        { role: "tool", toolCallId: "functions.shell:0", name: "shell", content: " " },
        { role: "assistant", content: " " },
        { role: "assistant", content: "", toolCalls: [shell("functions.shell:0")] },
        { role: "tool", toolCallId: "functions.shell:0", name: "shell", content: "ok", isError: true },
        { role: "tool", toolCallId: "nobody", name: "shell", content: "stray" },
        { role: "user", content: "and now?" },
        { role: "system", content: "plan: none" },
      ]);
      expect(fake.complaints).toEqual([]);
      expect(outcome).toMatchObject({ error: undefined, text: "ok" });
      expect(fake.requests[0]?.raw).not.toContain('"hm"');
    });

    check("a reply with calls goes back with its results, thoughts and all", async () => {
      const { fake, backend } = await setup();
      fake.say({ reasoning: "let me think", text: "look", calls: [{ name: "shell", args: { command: "ls" } }] });
      fake.say({ text: "two files" });
      const { events, text, calls } = await ask(backend);
      const reasoning = events.flatMap((event) => (event.type === "reasoning-block" ? [event.block] : []));
      const toolCalls = calls.map(({ id, name, args, extra }) => ({
        id,
        name,
        args: JSON.parse(args),
        ...(extra ? { extra } : {}),
      }));
      const saved = JSON.parse(JSON.stringify({ role: "assistant", content: text, toolCalls, reasoning }));
      const results = calls.map(({ id, name }) => ({ role: "tool" as const, toolCallId: id, name, content: "a b" }));
      expect(await ask(backend, [...hello, saved, ...results])).toMatchObject({ error: undefined, text: "two files" });
      expect(fake.complaints).toEqual([]);
    });

    check("the prefix of a longer history keeps its words", async () => {
      const { fake, backend } = await setup();
      const history: Message[] = [
        { role: "user", content: "a" },
        { role: "assistant", content: "b" },
        { role: "user", content: "c" },
      ];
      for (let n = 0; n < 2; n++) fake.say({ text: "ok" });
      await ask(backend, history);
      await ask(backend, [...history, { role: "assistant", content: "ok" }, { role: "user", content: "d" }]);
      const words = (raw = "") => raw.replace(/,?"cache_control":\{[^}]*\}/g, "");
      const [before, after] = fake.requests.map(({ raw }) => words(raw));
      const upToC = before?.slice(0, before.indexOf('"c"') + 3) ?? "";
      expect(upToC.length).toBeGreaterThan(10);
      expect(after?.startsWith(upToC)).toBe(true);
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

    check("models are sorted, and once each", async () => {
      const { fake, backend } = await setup();
      fake.models([["zeta"], ["alpha"], ["zeta"]]);
      expect(await backend.models()).toEqual(["alpha", "zeta"]);
    });

    for (const [what, answer] of [
      ["401", { status: 401 }],
      ["404", { status: 404 }],
      ["HTML with 200", { page: "<html><head><title>hello</title></head></html>" }],
    ] as const)
      check(`H-109: a list of models that answers ${what} is a BackendError, and a turn works`, async () => {
        const { fake, backend } = await setup();
        fake.models(answer);
        await expect(backend.models()).rejects.toBeInstanceOf(BackendError);
        await backend.contextLength();
        fake.say({ text: "ok" });
        expect((await ask(backend)).text).toBe("ok");
      });

    check("H-109: a list of models that hangs can be left", async () => {
      const { fake, backend } = await setup();
      fake.models("stall");
      const stop = new AbortController();
      const reason = new Error("long enough");
      setTimeout(() => stop.abort(reason), 30);
      await expect(backend.models(stop.signal)).rejects.toBeDefined();
    });

    for (const [said, tokens] of [
      [131_072, 131_072],
      ["128000", 128_000],
    ] as const)
      check(`H-108: a context length of ${JSON.stringify(said)}`, async () => {
        const { fake, backend } = await setup();
        fake.models([[backend.model, said]]);
        expect(await backend.contextLength()).toBe(tokens);
      });

    for (const said of [0, -1, null, "many"])
      check(`H-108: a context length of ${JSON.stringify(said)} is not believed`, async () => {
        const { fake, backend } = await setup();
        fake.models([[backend.model, said]]);
        const tokens = await backend.contextLength();
        expect(tokens === undefined || tokens > 1_000).toBe(true);
      });
  });
}

/** All that an error shows, causes too. */
function inspected(error: unknown): string {
  const own = Object.getOwnPropertyNames(error ?? {}).map((name) => String((error as Record<string, unknown>)[name]));
  const cause = (error as { cause?: unknown } | undefined)?.cause;
  return [...own, ...(cause === undefined ? [] : [inspected(cause)])].join("\n");
}
