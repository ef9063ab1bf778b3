import { appendFileSync, mkdirSync, readdirSync, readFileSync, statSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep, setImmediate as soon } from "node:timers/promises";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { type Chat, chat } from "../../../plugins/agent/chat.ts";
import { chatFilter } from "../../../plugins/agent/chat-filter.ts";
import { startAgent, tempDir } from "./kit.ts";
import { done, say, text } from "./model.ts";

function open(file = join(tempDir(), "chat")): Chat {
  const log = chat(file, undefined, () => {});
  onTestFinished(() => log.raw.flush());
  return log;
}
const all = (log: Chat): string => log.raw.tail(1 << 30).toString("utf8");
const textOf = (raw: string): string => chatFilter()(raw);

test("each kind of block has its markup and its line of text", () => {
  const log = open();
  log.block("user", "hi");
  log.reply("resp-1", "Hel");
  log.reply("resp-1", "lo");
  log.call("shell", '{"command":\n  "ls  -l"}');
  log.tool("shell", "text", "a\n");
  log.tool("shell", "text", "b\n\n\n");
  log.end();
  log.block("usage", "1 in, 2 out");
  log.block("retry", "retry 1 of 3 in 2 s: busy");
  log.block("info", "one\ntwo");
  log.block("error", "broken");
  expect(all(log)).toBe(
    [
      "[[[user]]]\nhi\n[[[end]]]\n",
      "[[[assistant:resp-1]]]\nHello\n[[[end]]]\n",
      '[[[call:shell]]]\n{"command": "ls -l"}\n[[[end]]]\n',
      "[[[tool:shell]]]\n```text\na\nb\n```\n[[[end]]]\n",
      "[[[usage]]]\n1 in, 2 out\n[[[end]]]\n",
      "[[[retry]]]\nretry 1 of 3 in 2 s: busy\n[[[end]]]\n",
      "[[[info]]]\none\ntwo\n[[[end]]]\n",
      "[[[error]]]\nbroken\n[[[end]]]\n",
    ].join(""),
  );
  expect(textOf(all(log))).toBe(
    'user: hi\nassistant: Hello\n-> shell({"command": "ls -l"})\na\nb\nretry 1 of 3 in 2 s: busy\n:: one\n:: two\nerror: broken\n',
  );
  expect(log.text.size).toBe(Buffer.byteLength(textOf(all(log))));
});

test("content that looks like a marker is guarded in chat.raw and itself in chat", () => {
  const log = open();
  const nasty = "[[[end]]]\n [[[user]]]\n  [[[\ntext [[[end]]]\n[[[tool:x]]]\n";
  for (const piece of ["[", "[", "[end]]]", "\n [[[us", "er]]]\n ", " [", "[[\ntext [[[end]]]\n[[[tool:x]]]\n"])
    log.reply("r", piece);
  log.tool("t", undefined, nasty);
  log.end();
  const raw = all(log);
  expect(raw.match(/^\[\[\[.*$/gm)).toEqual(["[[[assistant:r]]]", "[[[end]]]", "[[[tool:t]]]", "[[[end]]]"]);
  expect(textOf(raw)).toBe(`assistant: ${nasty}${nasty}`);
});

test("a tool's fence is longer than any that begins a line inside, also when that comes late", () => {
  const log = open();
  log.tool("t", "md", "a ```` b\n");
  log.tool("t", "md", "```js\nx\n``");
  log.tool("t", "md", "`\n``````\ny\n");
  log.end();
  const raw = all(log);
  expect(raw).toBe("[[[tool:t]]]\n`````md\na ```` b\n```js\nx\n```\n`````\n```````md\n``````\ny\n```````\n[[[end]]]\n");
  expect(textOf(raw)).toBe("a ```` b\n```js\nx\n```\n``````\ny\n");
});

test("a blank beginning of a reply makes no block of its own", () => {
  const log = open();
  log.reply("r", "\n\n");
  log.block("info", "stopped");
  log.reply("s", " \n");
  log.reply("s", "now");
  log.end();
  expect(textOf(all(log))).toBe(":: stopped\nassistant:  \nnow\n");
});

const piece = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 12 }),
  fc.constantFrom("[[[", "[", "[[[end]]]", "\n", "```", "`", " ", "\n\n", "[[[user]]]", "é🌍", "````\n", "x"),
);
const event = fc.oneof(
  fc.record({ kind: fc.constant("reply" as const), id: fc.constantFrom("a", "b"), text: piece }),
  fc.record({ kind: fc.constant("tool" as const), id: fc.constantFrom("t", "u"), text: piece }),
  fc.record({ kind: fc.constantFrom("user" as const, "info" as const), id: fc.constant(""), text: piece }),
);

test("the markup can be read back whatever is in it, and the filter does not care how it is cut", async () => {
  const dir = tempDir();
  const logs: Chat[] = [];
  fc.assert(
    fc.property(fc.array(event, { maxLength: 25 }), fc.array(fc.nat(7), { minLength: 1 }), (events, cuts) => {
      const log = chat(join(dir, `${logs.length}`), undefined, () => {});
      logs.push(log);
      for (const { kind, id, text } of events) {
        if (kind === "reply") log.reply(id, text);
        else if (kind === "tool") log.tool(id, undefined, text);
        else log.block(kind, text);
      }
      log.end();
      const raw = all(log);
      // Blocks alternate with their ends, and nothing stands between them.
      const markers = raw.match(/^\[\[\[.*\]\]\]$/gm) ?? [];
      for (const [i, line] of markers.entries()) expect(line === "[[[end]]]").toBe(i % 2 === 1);
      expect(raw === "" || raw.endsWith("[[[end]]]\n")).toBe(true);
      const whole = textOf(raw);
      const filter = chatFilter();
      let pieces = "";
      for (let at = 0, i = 0; at < raw.length; i++) {
        const length = 1 + (cuts[i % cuts.length] as number);
        pieces += filter(raw.slice(at, at + length));
        at += length;
      }
      expect(pieces).toBe(whole);
      // What a single reply said stands in the text as it was.
      const only = events.filter(({ kind }) => kind === "reply");
      if (only.length === events.length && new Set(only.map(({ id }) => id)).size === 1) {
        const said = only.map(({ text }) => text).join("");
        if (said.trim() !== "") expect(whole).toBe(`assistant: ${said}${said.endsWith("\n") ? "" : "\n"}`);
      }
    }),
    { numRuns: 200 },
  );
  await Promise.all(logs.map((log) => log.raw.flush()));
});

const drain = (from: { take(max: number): unknown }, max: number): Buffer[] => {
  const parts: Buffer[] = [];
  for (let got = from.take(max); got !== undefined && got !== null; got = from.take(max))
    parts.push(Buffer.from(got as string));
  return parts;
};

test("readers get whole characters, from memory and from disk, and the same bytes twice", async () => {
  const file = join(tempDir(), "chat");
  const log = open(file);
  const text = "é🌍日本語 line\n".repeat(120_000);
  for (let at = 0; at < text.length; at += 7001) log.reply("r", text.slice(at, at + 7001));
  log.end();
  await log.raw.flush();
  expect(statSync(file).size).toBe(log.raw.size);
  expect(log.raw.size).toBeGreaterThan(2 << 20);
  for (const reader of [log.raw.follow(0), log.text.follow()]) {
    const parts = drain(reader, 1000);
    for (const part of parts) expect(part.toString("utf8")).not.toContain("\ufffd");
    // what is more would be cut off where the reader's count ends
    expect(Math.max(...parts.map((part) => part.length))).toBeLessThanOrEqual(1000);
    expect(Buffer.concat(parts).toString("utf8").includes(text)).toBe(true);
  }
  // over the border of two pages, too
  const border = log.raw.size - (log.raw.size % 65_536);
  for (let before = 1; before < 8; before++)
    for (let max = 4; max < 12; max++) expect(log.raw.read(border - before, max).length).toBeLessThanOrEqual(max);
  expect(readFileSync(file, "utf8")).toBe(Buffer.concat(drain(log.raw.follow(0), 5000)).toString("utf8"));
});

test("a reader goes on at the offset that it asks for, also in the filtered text", async () => {
  const log = open();
  for (let i = 0; i < 2000; i++) {
    log.block("user", `question ${i} ${"é".repeat(100)}`);
    log.reply(`r${i}`, `answer ${i}\n`);
    log.end();
    log.text.mark();
  }
  const whole = Buffer.from(textOf(all(log)));
  for (const offset of [0, 1, 777, 100_000, whole.length - 5, whole.length, whole.length + 5]) {
    const reader = log.text.follow();
    reader.take(10);
    reader.seek?.(offset);
    expect(Buffer.concat(drain(reader, 4096)).equals(whole.subarray(offset))).toBe(true);
  }
});

test("offsets go on after a restart, and what a crash tore is closed", async () => {
  const file = join(tempDir(), "chat");
  const first = open(file);
  first.block("user", "one");
  await first.raw.flush();
  const mark = first.text.mark();
  const size = first.raw.size;
  appendFileSync(file, Buffer.concat([Buffer.from("[[[assistant:r]]]\nhalf é"), Buffer.from([0xf0, 0x9f])]));
  const second = chat(file, mark, () => {});
  expect(all(second).slice(size)).toBe("[[[assistant:r]]]\nhalf é\n[[[end]]]\n");
  second.block("user", "two");
  expect(textOf(all(second))).toBe("user: one\nassistant: half é\nuser: two\n");
  expect(second.text.size).toBe(Buffer.byteLength("user: one\nassistant: half é\nuser: two\n"));
  await second.raw.flush();
  expect(readFileSync(file, "utf8")).toBe(all(second));
});

test("a log that can not begin anew grows on, and the disk's error is told", async () => {
  const file = join(tempDir(), "chat");
  const errors: string[] = [];
  const log = chat(file, undefined, (error) => errors.push(String(error)), 3 << 20);
  for (let i = 0; i < 2; i++) {
    log.block("user", `${"x".repeat(1 << 20)}`);
    await log.raw.flush();
  }
  // its descriptor is closed by then
  await sleep(1_200);
  unlinkSync(file);
  mkdirSync(file);
  log.block("user", "y".repeat(1 << 20));
  for (let i = 0; errors.length < 2 && i < 100; i++) await sleep(10);
  expect(errors).toEqual([expect.stringContaining("EISDIR"), expect.stringContaining("EISDIR")]);
  log.block("user", "on");
  expect(log.raw.tail(100).toString()).toContain("\non\n");
  log.raw.end();
  await log.raw.flush();
});

test("content that looks like an end mark does not close what a crash tore", async () => {
  const file = join(tempDir(), "chat");
  const first = open(file);
  first.tool("shell", "text", "before\n[[[end]]]\n");
  await first.raw.flush();
  const second = chat(file, undefined, () => {});
  second.block("user", "two");
  expect(textOf(all(second))).toBe("before\n[[[end]]]\nuser: two\n");
});

test("a reader that waits is woken by the next text, and by the end", () => {
  const log = open();
  const reader = log.text.follow();
  expect(reader.take(100)).toBeUndefined();
  let woken = 0;
  reader.wait(() => woken++);
  log.block("user", "hi");
  expect(woken).toBe(1);
  expect(String(reader.take(100))).toBe("user: hi\n");
  reader.wait(() => woken++);
  log.raw.end();
  expect(woken).toBe(2);
  expect(reader.take(100)).toBeNull();
});

test("a log that has grown long begins anew with one notice; offsets and open readers go on, also after a restart", async () => {
  const file = join(tempDir(), "chat");
  const max = 100_000;
  const log = chat(file, undefined, () => {}, max);
  const seen = { raw: "", text: "" };
  const follow = (log: Chat, of: "raw" | "text", seek = 0) => {
    const reader = of === "raw" ? log.raw.follow(0) : log.text.follow();
    if (seek > 0) reader.seek?.(seek);
    return () => {
      for (let got = reader.take(8192); got; got = reader.take(8192)) seen[of] += got.toString();
    };
  };
  const live = { raw: follow(log, "raw"), text: follow(log, "text") };
  let said = "";
  for (let i = 0; i < 150; i++) {
    const piece = `piece ${i} é ${"x".repeat(1000)}\n`;
    said += piece;
    log.reply("r", piece);
    if (i % 10 === 9) await new Promise((resolve) => setTimeout(resolve, 2));
    live.raw();
    live.text();
  }
  log.end();
  await log.raw.flush();
  live.raw();
  live.text();
  const { start } = log.raw;
  expect(start.raw).toBeGreaterThan(max);
  expect(statSync(file).size).toBe(log.raw.size - start.raw);
  expect(statSync(`${file}.1`).size).toBe(start.raw);
  // Who was there from the beginning on has seen everything.
  expect(Buffer.byteLength(seen.raw)).toBe(log.raw.size);
  expect(seen.text).toBe(textOf(seen.raw));
  expect(Buffer.byteLength(seen.text)).toBe(log.text.size);
  expect(seen.text.replaceAll(/assistant: |:: the log has grown long.*\n/g, "")).toBe(said);
  expect(seen.raw.match(/has grown long/g)).toHaveLength(1);

  const whole = { ...seen };
  const again = chat(file, undefined, () => {}, max);
  expect([again.raw.size, again.text.size]).toEqual([log.raw.size, log.text.size]);
  for (const of of ["raw", "text"] as const)
    for (const offset of [0, start[of] - 1, start[of], start[of] + 7777]) {
      seen[of] = "";
      follow(again, of, offset)();
      expect(seen[of]).toBe(Buffer.from(whole[of]).subarray(Math.max(offset, start[of])).toString());
    }
  expect(again.raw.tail(1 << 30).toString()).toBe(Buffer.from(whole.raw).subarray(start.raw).toString());
  again.block("info", "more");
  await again.raw.flush();
});

test("the end of a long reply is at its readers before it is stored", async () => {
  const { fs, A, dir, model, idle } = await startAgent();
  const long = "x".repeat(2 << 20);
  const inFile = (end: string) =>
    readdirSync(dir, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(end))
      .some((name) => statSync(join(dir, name)).size > long.length);
  model.replies = [say(long)];
  const storedAtEnd = (async () => {
    let got = 0;
    for await (const piece of fs.stream(`${A}/chat.raw`)) {
      got += piece.length;
      if (got > long.length) return inFile(".journal.jsonl");
      // A reader elsewhere takes a few turns of the event loop to ask for more.
      for (let turns = 0; turns < 3; turns++) await soon();
    }
    return undefined;
  })();
  await fs.write(`${A}/prompt`, "go");
  expect(await storedAtEnd).toBe(false);
  await idle();
  expect(inFile(".json")).toBe(true);
});

test("a turn goes on without a reader that asks for no more", async () => {
  const { fs, A, model, idle } = await startAgent();
  model.replies = [say("x".repeat(2 << 20))];
  const stuck = fs.stream(`${A}/chat.raw`)[Symbol.asyncIterator]();
  const first = stuck.next();
  await fs.write(`${A}/prompt`, "go");
  await first;
  await idle();
  await stuck.return?.();
});

test("pieces that come together leave turns of the event loop to others between them", async () => {
  const { fs, A, model, idle } = await startAgent();
  const pieces = 100;
  let turns = 0;
  let counting = true;
  const count = () => {
    turns++;
    if (counting) setImmediate(count);
  };
  model.replies = [
    async function* together() {
      count();
      for (let n = 0; n < pieces; n++) yield text("piece\n");
      counting = false;
      yield done();
    },
  ];
  await fs.write(`${A}/prompt`, "go");
  await idle();
  expect(turns).toBeGreaterThanOrEqual(pieces);
});
