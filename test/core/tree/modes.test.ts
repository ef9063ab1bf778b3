import { type Base, bus, type LeafSpec, lazyAbort } from "ollie/tree";
import { describe, expect, test } from "vitest";
import { NineError } from "#core";
import { failure } from "../kit.ts";
import { fileOf, stateOf } from "./open.ts";

const throws = (error: unknown) => () => {
  throw error;
};
const never = () => new Promise<never>(() => {});
const text = (data?: Uint8Array) => (data ? Buffer.from(data).toString("utf8") : undefined);

describe("read", () => {
  test("runs at the first read, gives this open one snapshot at any offset, then the end", async () => {
    let runs = 0;
    const { open } = fileOf({ doc: "x", read: () => `run ${++runs}` });
    const [one, two] = [open(), open()];
    expect(runs).toBe(0);
    expect(one.length()).toBeUndefined();
    expect([await one.read(0, 3), await one.read(3, 2), await one.read(5), await one.read(99)]).toEqual([
      "run",
      " 1",
      "",
      "",
    ]);
    expect(one.length()).toBe(5);
    expect([await two.read(), await one.read()]).toEqual(["run 2", "run 1"]);
  });

  test("a read far away from the start, too, is served from one snapshot", async () => {
    const { open } = fileOf({ doc: "x", read: () => "0123456789" });
    expect(await open().read(4, 3)).toBe("456");
  });

  test("reads that come while the handler runs share its answer", async () => {
    let go = (_: string) => {};
    let runs = 0;
    const { open } = fileOf({
      doc: "x",
      read: () => {
        runs++;
        return new Promise<string>((done) => {
          go = done;
        });
      },
    });
    const one = open();
    const reads = [one.read(0, 2), one.read(2, 2), one.read(4, 2)];
    go("abcd");
    expect(await Promise.all(reads)).toEqual(["ab", "cd", ""]);
    expect(runs).toBe(1);
  });

  test("a failed run is no snapshot: the next read runs again", async () => {
    let runs = 0;
    const { open } = fileOf({ doc: "x", read: () => (++runs === 1 ? Promise.reject(new Error("not yet")) : "there") });
    const one = open();
    expect(await failure(() => one.read())).toBe("tree: read /file: not yet");
    expect(await one.read()).toBe("there");
  });

  test("a write on the same open drops the snapshot", async () => {
    let value = "old";
    const write = (_c: Base, data: Uint8Array) => {
      value = String(text(data));
    };
    const { open } = fileOf({ doc: "x", read: () => value, write });
    const one = open({ write: true });
    expect(await one.read()).toBe("old");
    await one.write("new");
    expect(await one.read()).toBe("new");
  });

  test("bytes are given as they are", async () => {
    const { open } = fileOf({ doc: "x", read: () => new Uint8Array([0x61, 0x62]) });
    expect(await open().read(1)).toBe("b");
  });

  test("a flush aborts the handler's signal", async () => {
    let reason: unknown;
    const { open } = fileOf({
      doc: "x",
      read: (c) =>
        new Promise<string>((_, reject) =>
          c.signal.addEventListener("abort", () => {
            reason = c.signal.reason;
            reject(reason);
          }),
        ),
    });
    const abort = lazyAbort();
    const reading = open().read(0, 10, abort);
    expect(await stateOf(reading)).toBe("pending");
    abort.abort();
    expect(reason).toBeInstanceOf(NineError);
  });
});

describe("write", () => {
  test("with commit message runs at each write", async () => {
    const seen: (string | undefined)[] = [];
    const { open } = fileOf({ doc: "x", write: (_c, data) => void seen.push(text(data)) });
    const one = open({ read: false, write: true });
    expect(await one.write("a")).toBe(1);
    expect(await one.write("bc")).toBe(2);
    expect(seen).toEqual(["a", "bc"]);
    await one.close();
    expect(seen).toEqual(["a", "bc"]);
  });

  test("with commit close runs once, at the clunk, with all bytes in order", async () => {
    const seen: (string | undefined)[] = [];
    const { open } = fileOf({ doc: "x", commit: "close", write: (_c, data) => void seen.push(text(data)) });
    const one = open({ read: false, write: true });
    await one.write("a");
    await one.write("bc");
    expect(seen).toEqual([]);
    await one.close();
    expect(seen).toEqual(["abc"]);
  });

  test("nothing written and no truncation: nothing is committed", async () => {
    let runs = 0;
    const { open } = fileOf({ doc: "x", commit: "close", write: () => void runs++ });
    await open({ read: false, write: true }).close();
    expect(runs).toBe(0);
  });

  test("a truncating open with nothing written commits the empty text", async () => {
    const seen: (string | undefined)[] = [];
    const { open } = fileOf({ doc: "x", commit: "close", write: (_c, data) => void seen.push(text(data)) });
    await open({ read: false, write: true, trunc: true }).close();
    expect(seen).toEqual([""]);
  });

  test("a connection that ends commits nothing, and what was dropped is reported", async () => {
    const reports: string[] = [];
    const { open } = fileOf(
      { doc: "x", commit: "close", write: throws(new Error("must not run")) },
      { report: (_plugin, _path, error) => void reports.push((error as Error).message) },
    );
    const one = open({ read: false, write: true });
    await one.write("half a prompt");
    await one.drop();
    expect(reports).toEqual(["file: 13 bytes were dropped: the connection ended before the clunk"]);
  });

  test("over its limit: the write is refused, and a part never takes effect", async () => {
    let runs = 0;
    const { open } = fileOf({ doc: "x", commit: "close", max: 4, write: () => void runs++ });
    const one = open({ read: false, write: true });
    await one.write("1234");
    expect(await failure(() => one.write("5"))).toBe("file: longer than its limit of 4 bytes");
    expect(await failure(() => one.close())).toBe("file: longer than its limit of 4 bytes");
    expect(runs).toBe(0);
  });

  test("check refuses the write that it is called for, with the total so far", async () => {
    const sizes: number[] = [];
    const { open } = fileOf({
      doc: "x",
      commit: "close",
      write: () => {},
      check: (_c, size) => {
        sizes.push(size);
        if (size > 3) throw new NineError("full");
      },
    });
    const one = open({ read: false, write: true });
    await one.write("ab");
    expect(await failure(() => one.write("cd"))).toBe("full");
    expect(sizes).toEqual([2, 4]);
  });

  test("bytes are copied: what the sender does with its buffer later does not matter", async () => {
    let seen: string | undefined;
    const write = (_c: Base, data: Uint8Array) => {
      seen = text(data);
    };
    const { tree } = fileOf({ doc: "x", commit: "close", write });
    const as = { name: "u", groups: [], kind: "user" } as const;
    const file = tree.open(tree.find("/file", as), as, { read: false, write: true, trunc: false });
    const buffer = Buffer.from("abc");
    file.write(buffer, { abort: lazyAbort(), ok() {}, fail() {} });
    buffer.fill("x");
    await new Promise<void>((ok, fail) => file.close(true, { ok, fail }));
    expect(seen).toBe("abc");
  });
});

describe("rdwr", () => {
  const echo: LeafSpec<Base> = { doc: "x", rdwr: (_c, body) => (body ? `did ${text(body)}` : "usage: a word\n") };

  test("runs at the write; the reply is read next, from offset 0, with an end", async () => {
    const one = fileOf(echo).open({ write: true });
    await one.write("it");
    expect([await one.read(0, 3), await one.read(3), await one.read(6)]).toEqual(["did", " it", ""]);
    await one.write("more");
    expect(await one.read()).toBe("did more");
  });

  test("read unwritten it gives the usage", async () => {
    expect(await fileOf(echo).open().read()).toBe("usage: a word\n");
  });

  test("an error fails the write, and leaves no old reply to read", async () => {
    let bad = false;
    const { open } = fileOf({ doc: "x", rdwr: (_c, body) => (bad ? throws(new NineError("no"))() : `${text(body)}`) });
    const one = open({ write: true });
    await one.write("fine");
    bad = true;
    expect(await failure(() => one.write("worse"))).toBe("no");
    expect(await failure(() => one.read())).toBe("no");
  });
});

describe("request", () => {
  test("runs at the first read, with all bytes written", async () => {
    const bodies: (string | undefined)[] = [];
    const { open } = fileOf({
      doc: "x",
      request: (_c, body) => {
        bodies.push(text(body));
        return `${body?.length ?? "usage"}`;
      },
    });
    const one = open({ write: true });
    await one.write("ab");
    await one.write("cd");
    expect(bodies).toEqual([]);
    expect([await one.read(), await one.read(1), await one.read()]).toEqual(["4", "", "4"]);
    expect(bodies).toEqual(["abcd"]);
    await one.write("e");
    expect(await one.read()).toBe("1");
    expect(await open().read()).toBe("usage");
  });

  test("streams what a generator yields, and ends with it", async () => {
    const { open } = fileOf({
      doc: "x",
      request: async function* () {
        yield "one ";
        yield "two";
      } as () => AsyncIterable<string>,
    });
    const one = open({ write: true });
    await one.write("go");
    expect([await one.read(0, 4), await one.read(4), await one.read(7)]).toEqual(["one ", "two", ""]);
  });

  test("a flushed read, a clunk and a new body cancel the work", async () => {
    const causes: string[] = [];
    const { open } = fileOf({
      doc: "x",
      request: (c) => {
        c.signal.addEventListener("abort", () => causes.push(c.signal.reason.message));
        return never();
      },
    });
    for (const end of ["flush", "clunk", "write"]) {
      const one = open({ write: true });
      await one.write("go");
      const abort = lazyAbort();
      const reading = failure(() => one.read(0, 10, abort));
      await stateOf(reading);
      if (end === "flush") abort.abort();
      else if (end === "clunk") await one.close();
      else await one.write("other");
    }
    expect(causes).toEqual(["request abandoned", "request abandoned", "request abandoned"]);
  });
});

describe("stream", () => {
  test("has subscribed when the open is done, and loses nothing to a flush", async () => {
    const news = bus();
    const one = fileOf({ doc: "x", stream: () => news.subscribe() }).open();
    news.publish("a");
    expect(await one.read()).toBe("a");
    const abort = lazyAbort();
    const flushed = one.read(1, 10, abort);
    abort.abort();
    news.publish("b");
    expect(await stateOf(flushed)).toBe("pending");
    expect(await one.read(1)).toBe("b");
  });

  test("cuts to what is asked for, at any byte, and blocks where there is no more", async () => {
    const news = bus();
    const one = fileOf({ doc: "x", stream: () => news.subscribe() }).open();
    news.publish("häß");
    expect(Buffer.byteLength(await one.read(0, 1))).toBe(1);
    expect(Buffer.byteLength(await one.read(1, 9))).toBeGreaterThan(1);
    const blocked = one.read(9, 10);
    await stateOf(blocked);
    await one.close();
    expect(await failure(() => blocked)).toBe("fid clunked");
    expect(news.size).toBe(0);
  });

  test("ends where its source ends", async () => {
    const news = bus();
    const one = fileOf({ doc: "x", stream: () => news.subscribe() }).open();
    news.publish("last");
    news.end();
    expect([await one.read(), await one.read(), await one.read()]).toEqual(["last", "", ""]);
  });

  test("a generator is closed at the clunk, also while it waits", async () => {
    const ends: string[] = [];
    const { open } = fileOf({
      doc: "x",
      stream: async function* (c: Base) {
        try {
          yield "first";
          await new Promise((_, reject) => c.signal.addEventListener("abort", () => reject(c.signal.reason)));
        } finally {
          ends.push("closed");
        }
      } as LeafSpec<Base>["stream"] & {},
    });
    const one = open();
    expect(await one.read()).toBe("first");
    await one.close();
    await stateOf(never());
    expect(ends).toEqual(["closed"]);
  });

  test("a generator that throws gives what it had, then its error", async () => {
    const { open } = fileOf({
      doc: "x",
      stream: async function* () {
        yield "some";
        throw new Error("then broke");
      } as () => AsyncIterable<string>,
    });
    const one = open();
    expect(await one.read()).toBe("some");
    expect(await failure(() => one.read(4))).toBe("tree: stream /file: then broke");
  });

  test("empty pieces by the hundred thousand are passed over", async () => {
    const news = bus();
    const one = fileOf({ doc: "x", stream: () => news.subscribe() }).open();
    for (let i = 0; i < 100_000; i++) news.publish("");
    news.publish("x");
    expect(await one.read()).toBe("x");
  });
});

describe("blockOnce", () => {
  test("gives one answer, then the end; a read at 0 asks for the next with the last one", async () => {
    const asked: unknown[] = [];
    const wakes: ((value: string) => void)[] = [];
    const { open } = fileOf({
      doc: "x",
      blockOnce: (_c, last) => {
        asked.push(last);
        return new Promise<string>((done) => void wakes.push(done));
      },
    });
    const one = open();
    expect(asked).toEqual([undefined]);
    const first = one.read();
    expect(await stateOf(first)).toBe("pending");
    wakes.shift()?.("one");
    expect([await first, await one.read(3)]).toEqual(["one", ""]);
    const second = one.read();
    expect(await stateOf(second)).toBe("pending");
    wakes.shift()?.("two");
    expect(await second).toBe("two");
    expect(asked).toEqual([undefined, "one"]);
  });

  test("what comes between open and read is not lost, and a flushed read loses nothing", async () => {
    let wake = (_: string) => {};
    const { open } = fileOf({
      doc: "x",
      blockOnce: () =>
        new Promise<string>((done) => {
          wake = done;
        }),
    });
    const one = open();
    const abort = lazyAbort();
    const flushed = one.read(0, 10, abort);
    abort.abort();
    wake("there");
    expect(await stateOf(flushed)).toBe("pending");
    expect(await one.read()).toBe("there");
  });

  test("an error answers one read; the next asks again", async () => {
    let runs = 0;
    const { open } = fileOf({ doc: "x", blockOnce: () => (++runs === 1 ? throws(new Error("first"))() : "second") });
    const one = open();
    expect(await failure(() => one.read())).toBe("tree: read /file: first");
    expect(await one.read()).toBe("second");
  });
});
