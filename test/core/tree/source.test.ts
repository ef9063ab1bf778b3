import { buildTree, leaf } from "ollie/tree";
import { describe, expect, test } from "vitest";
import { bus, source, waiters } from "#core";
import { fileOf, openAt } from "./open.ts";

const drain = (reader: { take(max: number): unknown }): unknown[] => {
  const all: unknown[] = [];
  for (let item = reader.take(99); item !== undefined && item !== null; item = reader.take(99)) all.push(item);
  return all;
};

describe("a bus", () => {
  test("gives each reader what is published from its subscription on", () => {
    const news = bus();
    news.publish("before");
    const one = news.subscribe();
    news.publish("a");
    const two = news.subscribe();
    news.publish("b");
    expect([drain(one), drain(two)]).toEqual([["a", "b"], ["b"]]);
    expect(news.size).toBe(2);
    one.close();
    two.close();
    expect(news.size).toBe(0);
  });

  test("wakes a waiting reader once", () => {
    const news = bus();
    const one = news.subscribe();
    let woken = 0;
    one.wait(() => void woken++);
    one.wait(() => {
      woken += 10;
    })();
    news.publish("a");
    news.publish("b");
    expect(woken).toBe(1);
  });

  test("ends its readers after what is queued", () => {
    const news = bus();
    const one = news.subscribe();
    news.publish("a");
    news.end();
    expect([one.take(9), one.take(9)]).toEqual(["a", null]);
  });

  test("a reader that falls behind gets its end, or the notice, and the others nothing of it", () => {
    const [strict, kind] = [bus({ limit: 4 }), bus({ limit: 4, lost: "lost" })];
    const readers = [strict.subscribe(), kind.subscribe()] as const;
    for (const one of [strict, kind]) for (const text of ["abc", "def"]) one.publish(text);
    kind.publish("");
    expect([readers[0].take(9), readers[1].take(9)]).toEqual([null, "lost"]);
    kind.publish("new");
    expect(drain(readers[1])).toEqual(["", "new"]);
  });

  test("is a loop's source, and the loop's end unsubscribes", async () => {
    const news = bus();
    const heard: unknown[] = [];
    const loop = (async () => {
      for await (const text of news.subscribe()) {
        heard.push(text);
        if (text === "b") break;
      }
    })();
    news.publish("a");
    await new Promise((done) => setImmediate(done));
    news.publish("b");
    await loop;
    expect(heard).toEqual(["a", "b"]);
    expect(news.size).toBe(0);
  });
});

test("a bus serves calls of next in their order, and its end all that wait", async () => {
  const news = bus();
  const reading = news.subscribe()[Symbol.asyncIterator]();
  const calls = [reading.next(), reading.next(), reading.next(), reading.next()];
  news.publish("a");
  news.publish("b");
  news.end();
  expect(await Promise.all(calls)).toEqual([
    { value: "a", done: false },
    { value: "b", done: false },
    { value: undefined, done: true },
    { value: undefined, done: true },
  ]);
});

describe("waiters", () => {
  test("are each called once and forgotten; those that are added by a wake wait for the next", () => {
    const all = waiters();
    const calls: string[] = [];
    all.add(() => {
      calls.push("one");
      all.add(() => calls.push("two"));
    });
    all.wakeAll();
    expect([calls, all.size]).toEqual([["one"], 1]);
    all.wakeAll();
    all.wakeAll();
    expect([calls, all.size]).toEqual([["one", "two"], 0]);
  });
});

test("a wake that throws keeps nobody asleep, and its fault is a late error", async () => {
  const all = waiters();
  let woken = 0;
  all.add(() => {
    throw new Error("mine alone");
  });
  all.add(() => void woken++);
  const uncaught = new Promise((done) => process.once("uncaughtException", done));
  all.wakeAll();
  expect(woken).toBe(1);
  expect(await uncaught).toEqual(new Error("mine alone"));
});

test("a generator goes on once the reply has left, or at once for a read that waits", async () => {
  const steps: string[] = [];
  const { open } = fileOf({
    doc: "x",
    stream: async function* () {
      for (const item of ["a", "b", "c"]) {
        steps.push(item);
        yield item;
      }
    } as () => AsyncIterable<string>,
  });
  const one = open();
  expect(await one.read()).toBe("a");
  expect(steps).toEqual(["a"]);
  await new Promise((done) => setImmediate(done));
  expect(steps).toEqual(["a", "b"]);
  let turned = false;
  setImmediate(() => {
    turned = true;
  });
  expect(await Promise.all([one.read(1), one.read(2)])).toEqual(["b", "c"]);
  expect(turned).toBe(false);
});

describe("a source with seek", () => {
  const text = "0123456789";
  const log = () => {
    let at = 0;
    return source({
      take: (max) => {
        const piece = text.slice(at, at + max);
        at += piece.length;
        return piece || null;
      },
      wait: () => () => {},
      seek: (offset) => {
        if (offset > text.length) throw new Error("offset beyond the end");
        at = offset;
      },
      close: () => {},
    });
  };

  test("goes on at a read's offset", async () => {
    const one = openAt(buildTree([leaf("log", { doc: "x", stream: log })]), "/log");
    expect([await one.read(4, 2), await one.read(6, 2), await one.read(0, 2), await one.read(9, 9)]).toEqual([
      "45",
      "67",
      "01",
      "9",
    ]);
    await expect(one.read(99, 1)).rejects.toThrow("offset beyond the end");
  });
});
