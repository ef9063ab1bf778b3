/** Prices: the table, the user's over it, what is not known. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { costOf, plainName, rowOf, rowsOf } from "../../../plugins/backends/prices.ts";
import { registry } from "../../../plugins/backends/registry.ts";
import { type Tables, tables } from "../../../plugins/backends/tables.ts";
import type { Backend, BackendFactory, Usage } from "../../../plugins/backends/types.ts";

let folder: string;
let warnings: string[];
let load: () => Promise<Tables>;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "ollie-prices-"));
  warnings = [];
  load = tables({ OLLIE_CFG_PATH: folder }, (text) => warnings.push(text));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const table = (rows: object) => ({ rows: rowsOf(rows), own: new Set<string>() });

test("H-102: fresh, cached and written tokens have their own prices", () => {
  const prices = table({ m: { input: 3, output: 15, cached: 0.3, write: 3.75 } });
  const usage: Usage = { input: 39_029, cachedInput: 39_000, cacheCreation: 10, output: 10 };
  expect(costOf(prices, "m", usage)).toBeCloseTo((19 * 3 + 39_000 * 0.3 + 10 * 3.75 + 10 * 15) / 1e6, 12);
});

test("without prices for caches: a tenth and 1.25 for Claude, a half and the same for others", () => {
  const prices = table({ "claude-x": { input: 10, output: 0 }, other: { input: 10, output: 0 } });
  const usage: Usage = { input: 2_000_000, cachedInput: 1_000_000, cacheCreation: 1_000_000, output: 0 };
  expect(costOf(prices, "claude-x", usage)).toBeCloseTo(1 + 12.5, 9);
  expect(costOf(prices, "other", usage)).toBeCloseTo(5 + 10, 9);
});

test("a long request has the prices of long ones, all of it", () => {
  const prices = table({ m: { input: 1, output: 2, over: { tokens: 1000, input: 10, output: 20 } } });
  expect(costOf(prices, "m", { input: 1000, output: 1000 })).toBeCloseTo(0.003, 9);
  expect(costOf(prices, "m", { input: 1001, output: 1000 })).toBeCloseTo((1001 * 10 + 1000 * 20) / 1e6, 9);
});

test.each([
  ["anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"],
  ["us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"],
  ["openrouter/anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"],
  ["claude-sonnet-4-5@20250929", "claude-sonnet-4-5"],
  ["Claude-Sonnet-4-5-latest", "claude-sonnet-4-5"],
  ["gpt-4o-2024-08-06", "gpt-4o"],
  ["models/gemini-2.5-pro", "gemini-2.5-pro"],
  ["gpt-4o-mini", "gpt-4o-mini"],
])("%s has the price of %s", async (model, known) => {
  const { models } = await load();
  expect(rowOf(models, model)).toBe(models.rows.get(plainName(known)));
  expect(rowOf(models, model)).toBeDefined();
});

test("H-106: a model that is not in the table has no price: not 0, and not that of a shorter name", async () => {
  const { models } = await load();
  const usage: Usage = { input: 10, output: 10 };
  for (const model of ["foo/new-1", "claude-sonnet-5-9", "gpt-4o-audio-preview", "o3-pro", "claude-opus-4-9-20270101"])
    expect(costOf(models, model, usage)).toBeUndefined();
  expect(costOf(models, "foo/new-1:free", usage)).toBe(0);
});

test("the user's file goes over the package's, and is read again when it changes", async () => {
  expect((await load()).defaultOf("anthropic")).toMatch(/^claude-/);
  await writeFile(
    join(folder, "models.yaml"),
    "anthropic: { default: mine }\nopenai: { free: true }\nmodels:\n  foo-1: { input: 1, output: 2 }\n  gpt-4o: { context: 9000 }\n",
  );
  const now = await load();
  expect([now.defaultOf("anthropic"), now.isFree("openai"), now.isFree("ollama")]).toEqual(["mine", true, true]);
  expect(costOf(now.models, "vendor/foo-1", { input: 1e6, output: 1e6 })).toBeCloseTo(3, 9);
  expect(rowOf(now.models, "gpt-4o")).toMatchObject({ context: 9000, input: 2.5 });
  expect(warnings).toEqual([]);
});

test.each([
  ["no YAML", "a: [", /models\.yaml/],
  ["a price that is no number", "models: { m: { input: cheap } }", /m: input is no number of 0 or more/],
  ["an unknown key", "models: { m: { inptu: 1 } }", /m: unknown key inptu \(known: input output/],
])("a user's file with %s is told once and left out", async (_, text, words) => {
  await writeFile(join(folder, "models.yaml"), text);
  expect((await load()).defaultOf("anthropic")).toMatch(/^claude-/);
  await load();
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toMatch(words);
});

/** A backend that reports `usage` for whatever model it has. */
const reporting = (name: string, usage: Usage, window?: () => Promise<unknown>): BackendFactory => ({
  name,
  credentials: [],
  available: async () => ({ ok: true, why: "it is there" }),
  defaultModel: "m",
  create: ({ model = "" }): Backend => ({
    name,
    model,
    setModel(to) {
      (this as { model: string }).model = to;
    },
    async *chatStream() {
      yield { type: "usage", usage };
      yield { type: "done", stop: "stop" };
    },
    contextLength: (window ?? (async () => undefined)) as Backend["contextLength"],
    models: async () => [],
  }),
});

async function run(backend: Backend): Promise<Usage | undefined> {
  let usage: Usage | undefined;
  for await (const event of backend.chatStream([], [], {}, new AbortController().signal))
    if (event.type === "usage") usage = event.usage;
  return usage;
}

test("H-106: usage of the server: what is known beside what is not, free is 0, reported costs stand", async () => {
  const made = registry({ env: { OLLIE_CFG_PATH: folder } });
  made.register(reporting("openai", { input: 1_000_000, output: 0, cachedInput: 500_000 }));
  made.register(reporting("openrouter", { input: 10, output: 1, costUSD: 0.95 }));
  made.register(reporting("ollama", { input: 7, output: 3, estimated: true }));
  const use = async (backend: string, model: string) => run(await made.create({ backend, model }));
  expect((await use("openai", "gpt-4o"))?.costUSD).toBeCloseTo(1.25 + 0.625, 9);
  expect(await use("openai", "foo/new-1")).not.toHaveProperty("costUSD");
  expect((await use("openrouter", "foo/new-1"))?.costUSD).toBe(0.95);
  expect((await use("ollama", "qwen3.5:9b"))?.costUSD).toBe(0);
  expect(made.usage()).toBe(
    "ollama/qwen3.5:9b\t7 in, 3 out, 1 requests [estimated]\t$0.0000\n" +
      "openai/foo/new-1\t1000000 in, 0 out, 1 requests, 500000 cached\tunknown\n" +
      "openai/gpt-4o\t1000000 in, 0 out, 1 requests, 500000 cached\t$1.8750\n" +
      "openrouter/foo/new-1\t10 in, 1 out, 1 requests\t$0.9500\n" +
      "total\t2000017 in, 4 out, 4 requests, 1000000 cached [estimated]\tunknown ($2.8250 is known)\n",
  );
});

test("a model that is switched is priced as what it is now", async () => {
  const made = registry({ env: { OLLIE_CFG_PATH: folder } });
  made.register(reporting("openai", { input: 1_000_000, output: 0 }));
  const backend = await made.create({ backend: "openai", model: "gpt-4o" });
  expect((await run(backend))?.costUSD).toBeCloseTo(2.5, 9);
  backend.setModel("gpt-4o-mini");
  expect((await run(backend))?.costUSD).toBeCloseTo(0.15, 9);
});

test.each([
  [async () => 0, 128_000],
  [async () => "64000", 64_000],
  [async () => -5, 128_000],
  [async () => Number.NaN, 128_000],
  [() => Promise.reject(new Error("down")), 128_000],
])("H-108: a window of %s is what the table says, where it is nonsense", async (window, tokens) => {
  const made = registry({ env: { OLLIE_CFG_PATH: folder } });
  made.register(reporting("openai", { input: 1, output: 1 }, window));
  expect(await (await made.create({ backend: "openai", model: "gpt-4o" })).contextLength()).toBe(tokens);
});

test("H-108: a window in the user's file is taken, whatever the provider says", async () => {
  await writeFile(join(folder, "models.yaml"), "models: { gpt-4o: { context: 8000 }, local-1: { context: 4096 } }\n");
  const made = registry({ env: { OLLIE_CFG_PATH: folder } });
  made.register(reporting("openai", { input: 1, output: 1 }, async () => 128_000));
  for (const [model, tokens] of [
    ["gpt-4o", 8000],
    ["local-1", 4096],
  ] as const)
    expect(await (await made.create({ backend: "openai", model })).contextLength()).toBe(tokens);
});
