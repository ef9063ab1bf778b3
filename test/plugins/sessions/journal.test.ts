import { appendFileSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { lastHead } from "../../../plugins/sessions/journal.ts";
import { decode, decodeHead, encode, type Snapshot } from "../../../plugins/sessions/snapshot.ts";
import { sessionStore } from "../../../plugins/sessions/store.ts";
import { tempDir } from "./kit.ts";

const id = "11111111-1111-4111-8111-111111111111";
const snapshot = (seq: number, sections: Record<string, unknown> = {}): Snapshot => ({
  seq,
  id,
  name: "s",
  created: 1,
  env: {},
  rows: [],
  unknown: {},
  sections,
});

test("lines keep the order of the calls, and those that wait share a write", async () => {
  const dir = tempDir();
  const store = sessionStore(dir, id);
  await Promise.all(Array.from({ length: 100 }, (_, n) => store.journal(n)));
  await store.rest();
  const lines = readFileSync(join(dir, `${id}.journal.jsonl`), "utf8")
    .trimEnd()
    .split("\n");
  expect(lines.map((line) => JSON.parse(line).v)).toEqual(Array.from({ length: 100 }, (_, n) => n));
});

test("a line is what its value was at the call", async () => {
  const dir = tempDir();
  const store = sessionStore(dir, id);
  const value = { text: "then" };
  const done = store.journal(value);
  value.text = "now";
  await done;
  await store.rest();
  expect(readFileSync(join(dir, `${id}.journal.jsonl`), "utf8")).toMatch(
    /^\{"n":1,"crc":\d+,"v":\{"text":"then"\}\}\n$/,
  );
});

test("a line may hold any text", async () => {
  const dir = tempDir();
  writeFileSync(join(dir, `${id}.json`), encode(snapshot(0)));
  const texts = ["\u2028\u2029\u0085\r\n", "\ud800 alone", "\0", '{"n":1}\n{"head":{}}', "𝒳".repeat(100_000)];
  const store = sessionStore(dir, id);
  for (const text of texts) await store.journal(text);
  await store.rest();
  expect(sessionStore(dir, id).load().lines).toEqual(texts);
});

test("a snapshot counts the lines that wait as its own, later ones not", async () => {
  const dir = tempDir();
  const store = sessionStore(dir, id);
  const waiting = store.journal("in the snapshot");
  const saved = store.save((seq) => snapshot(seq));
  await Promise.all([waiting, saved]);
  await store.journal("behind it");
  await store.rest();
  const loaded = sessionStore(dir, id).load();
  expect(loaded.lines).toEqual(["behind it"]);
});

test("saves that wait share one write, of the last state", async () => {
  const dir = tempDir();
  const store = sessionStore(dir, id);
  let made = 0;
  let state = 1;
  const save = () => store.save((seq) => snapshot(seq, { made: ++made, state }));
  const all = [save(), save(), save()];
  state = 2;
  await Promise.all(all);
  await store.rest();
  expect(sessionStore(dir, id).load().sections).toEqual({ made: 1, state: 2 });
});

test("any cut of a journal gives a beginning of its lines, and takes new ones; any other change is damage", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.json(), { minLength: 1, maxLength: 6 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.nat(255),
      async (values, part, byte) => {
        const dir = tempDir();
        const path = join(dir, `${id}.journal.jsonl`);
        writeFileSync(join(dir, `${id}.json`), encode(snapshot(0)));
        const parsed = values.map((json) => JSON.parse(json));
        const first = sessionStore(dir, id);
        for (const value of parsed) await first.journal(value);
        await first.rest();
        const whole = readFileSync(path);
        const at = Math.floor((whole.length - 1) * part);

        writeFileSync(path, whole.subarray(0, at));
        const store = sessionStore(dir, id);
        const { lines } = store.load();
        expect(lines).toEqual(parsed.slice(0, lines.length));
        await store.journal("new");
        await store.rest();
        expect(sessionStore(dir, id).load().lines).toEqual([...lines, "new"]);

        if (byte === whole[at] || at === whole.length - 1) return;
        const other = Buffer.from(whole);
        other[at] = byte;
        writeFileSync(path, other);
        expect(() => sessionStore(dir, id).load()).toThrow(/ of its journal is /);
      },
    ),
    { numRuns: 60 },
  );
});

test("a snapshot is one JSON object whose first line is its header", () => {
  const full = { ...snapshot(7, { agents: [{ text: "a\nb" }], other: null }), unknown: { color: "red" } };
  const text = encode(full);
  const { sections: _, ...head } = full;
  expect(JSON.parse(text)).toMatchObject({ version: 1, seq: 7, agents: [{ text: "a\nb" }] });
  expect(decode(text)).toEqual(full);
  expect(decodeHead(text.split("\n")[0] ?? "")).toEqual(head);
  expect(decodeHead(encode(snapshot(1)).split("\n")[0] ?? "")?.seq).toBe(1);
  expect(decodeHead("{")).toBeUndefined();
});

test("a long history is not written again at each rest, only when the journal has grown by half of it", async () => {
  const dir = tempDir();
  const path = join(dir, `${id}.json`);
  const store = sessionStore(dir, id);
  const history: string[] = [];
  let bytes = 0;
  const rest = async () => {
    if (!store.due) return;
    await store.save((seq) => {
      const made = snapshot(seq, { history });
      bytes += encode(made).length;
      return made;
    });
  };
  const step = "x".repeat(10_000);
  for (let n = 0; n < 1_000; n++) {
    history.push(step);
    await store.journal(step);
    await rest();
  }
  await store.rest();
  // Each byte of the history is written in the journal once, and a few times in snapshots.
  expect(bytes / (1_000 * step.length)).toBeLessThan(4);
  const { sections, lines } = sessionStore(dir, id).load();
  expect([...(sections.history as string[]), ...lines]).toEqual(history);
  expect(statSync(path).size).toBeGreaterThan(5_000_000);
});

test("lines that come while a snapshot is written stay, and those that it holds go", async () => {
  const dir = tempDir();
  const store = sessionStore(dir, id);
  await store.save((seq) => snapshot(seq));
  await store.journal("held");
  const saved = store.save((seq) => snapshot(seq, { held: true }));
  await Promise.resolve();
  await Promise.all([store.journal("one"), store.journal("two"), saved]);
  expect(store.behind).toBe(true);
  const { sections, lines } = sessionStore(dir, id).load();
  expect([sections.held, ...lines].slice(-2)).toEqual(["one", "two"]);
  await store.journal("three");
  await store.rest();
  expect(sessionStore(dir, id).load().lines).toEqual(["one", "two", "three"]);
  expect(readFileSync(join(dir, `${id}.journal.jsonl`), "utf8")).not.toContain("held");
});

test("the header's last line in a journal is what a listing shows, whatever texts look like it", async () => {
  const dir = tempDir();
  const store = sessionStore(dir, id);
  await store.head({ name: "first" });
  await store.journal('\n{"head":{"name":"no"}}');
  await store.head({ name: "second" });
  await store.journal('{"head":{"name":"no"}}');
  await store.rest();
  const path = join(dir, `${id}.journal.jsonl`);
  expect(lastHead(path)).toEqual({ name: "second" });
  appendFileSync(path, '{"head":{"name":"torn"');
  expect(lastHead(path)).toEqual({ name: "second" });
  expect(lastHead(join(dir, "none"))).toBeUndefined();
});
