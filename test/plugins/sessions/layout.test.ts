import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Growing } from "#plugins/sessions";
import { sessionStore } from "../../../plugins/sessions/store.ts";
import { tempDir } from "./kit.ts";

const id = "11111111-1111-4111-8111-111111111111";

/** A list that can be looked at: `asked` has the numbers from which on its items were asked for. */
function list(values: unknown[], unsettled: unknown[] = [], epoch = 0): Growing & { asked: number[] } {
  const asked: number[] = [];
  const from = (at: number) => {
    asked.push(at);
    return values.slice(at);
  };
  return { length: values.length, epoch, from, open: unsettled, asked, toJSON: () => [...values, ...unsettled] };
}

/** A folder with one session; `save` writes records of `a`, each with a list, and gives the file as others read it. */
function folder() {
  const dir = tempDir();
  const path = join(dir, `${id}.json`);
  const open = () => sessionStore(dir, id);
  const store = open();
  const save = async (lists: Record<string, Growing>, to = store) => {
    const records = Object.entries(lists).map(([id, items]) => ({ id, items, plan: 'a "],[" \n b' }));
    const head = { id, name: "s", created: 1, env: {}, rows: [], unknown: {} };
    await to.save((seq) => ({ ...head, seq, sections: { first: { x: 1 }, a: records, last: [1] } }));
    return JSON.parse(readFileSync(path, "utf8"));
  };
  return { path, open, store, save };
}

const all = async (items: AsyncIterable<readonly unknown[]>): Promise<unknown[]> => {
  const found: unknown[] = [];
  for await (const some of items) found.push(...some);
  return found;
};

const texts = (count: number, from = 0) =>
  Array.from({ length: count }, (_, n) => ({ text: `${from + n} \n"],\u2028 ä ${"x".repeat(n % 50)}` }));

/** The lists of `a` as a restore has them. */
const restored = (store: ReturnType<ReturnType<typeof folder>["open"]>) =>
  (store.load().sections.a as { id: string; items: Growing }[]).map(({ items }) => items);

test("a file with growing lists is one JSON object; a restore leaves the items there, and they can be had", async () => {
  const { save, open } = folder();
  const one = texts(5_000);
  const file = await save({ one: list(one), none: list([]), open: list(one.slice(0, 1), ["open"]) });
  expect(file.a.map(({ items }: { items: unknown[] }) => items)).toEqual([one, [], [one[0], "open"]]);
  expect(file).toMatchObject({ first: { x: 1 }, last: [1], a: [{ id: "one", plan: 'a "],[" \n b' }, {}, {}] });

  const store = open();
  expect(restored(store).map(({ length, open }) => [length, open])).toEqual([
    [5_000, []],
    [0, []],
    [1, ["open"]],
  ]);
  expect(store.kept("a", "one", 0)).toBe(5_000);
  expect(await all(store.items("a", "one"))).toEqual(one);
  expect(await all(store.items("a", "none"))).toEqual([]);
  expect(await all(store.items("a", "open"))).toEqual([one[0]]);
});

test("a snapshot copies the items that are there, and asks for the others only", async () => {
  const { save, open } = folder();
  const values = texts(3_000);
  const first = list(values.slice(0, 2_000), ["for now"]);
  await save({ one: first, two: list(["x"]) });
  expect(first.asked).toEqual([0]);

  const store = open();
  const [left] = restored(store);
  // as it came, with nothing in memory
  expect((await save({ one: left as Growing }, store)).a[0].items).toEqual([...values.slice(0, 2_000), "for now"]);
  const grown = list(values);
  expect((await save({ one: grown }, store)).a[0].items).toEqual(values);
  expect(grown.asked).toEqual([2_000]);
  expect(await all(store.items("a", "one"))).toEqual(values);

  const other = list(["new"], [], 1);
  expect((await save({ one: other }, store)).a[0].items).toEqual(["new"]);
  expect(other.asked).toEqual([0]);
  expect([store.kept("a", "one", 0), store.kept("a", "one", 1)]).toEqual([0, 1]);
});

test("items that are being read are not disturbed by the next snapshot", async () => {
  const { save, store } = folder();
  const values = texts(20_000);
  await save({ one: list(values) });
  const found: unknown[] = [];
  for await (const some of store.items("a", "one")) {
    if (found.length === 0) await save({ one: list(["other"], [], 1) });
    found.push(...some);
  }
  expect(found).toEqual(values);
});

test("items can be had at any moment of a snapshot, though it moves them", async () => {
  const { save, store } = folder();
  const values = texts(50);
  await save({ grows: list([]), one: list(values) });
  for (let n = 1; n <= 20; n++) {
    let over = false;
    const saved = save({ grows: list(texts(n)), one: list(values) }).finally(() => {
      over = true;
    });
    while (!over) {
      expect(await all(store.items("a", "one"))).toEqual(values);
      await setImmediate();
    }
    await saved;
  }
});

test("a file that was edited is read as a whole; what is damaged is not taken for a shorter list", async () => {
  const { path, save, open } = folder();
  const values = texts(100);
  await save({ one: list(values) });
  const text = readFileSync(path, "utf8");
  for (const edited of [
    text.replace('"x":1', '"x":11'),
    text.replace("7 \\n", "seven \\n"),
    JSON.stringify(JSON.parse(text)),
    JSON.stringify(JSON.parse(text), null, 2),
  ]) {
    writeFileSync(path, edited);
    const [items] = restored(open());
    expect(Array.isArray(items) && items.length, edited.slice(0, 80)).toBe(100);
  }
  for (const broken of [text.replace("8 \\n", "8 \n "), text.replace('"text":"9 ', '"text":"9"')]) {
    writeFileSync(path, broken);
    const damaged = open();
    await expect(async () => {
      damaged.load();
      await all(damaged.items("a", "one"));
    }).rejects.toThrow();
  }
});

test("a snapshot that can not be written leaves the old one, items included", async () => {
  const { path, save, store } = folder();
  const values = texts(100);
  await save({ one: list(values) });
  const before = readFileSync(path);
  const bad = { ...list(["new"], [], 1), from: () => [1n] };
  await expect(save({ one: bad })).rejects.toThrow(/not saved/);
  expect(readFileSync(path)).toEqual(before);
  expect(await all(store.items("a", "one"))).toEqual(values);
});

test("what is copied is what was written: a file that is gone or was changed is made anew", async () => {
  const { path, save, store } = folder();
  const values = texts(100);
  await save({ one: list(values) });
  rmSync(path);
  expect((await save({ one: list(values) })).a[0].items).toEqual(values);
  writeFileSync(path, "{}");
  const again = list(values);
  expect((await save({ one: again }, store)).a[0].items).toEqual(values);
  expect(again.asked).toEqual([0]);
});
