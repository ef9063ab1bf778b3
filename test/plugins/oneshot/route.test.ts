/** Which model is chosen, of lists and facts that are given. */
import { expect, test } from "vitest";
import type { Backends, ModelFacts } from "../../../plugins/backends/types.ts";
import { route } from "../../../plugins/oneshot/route.ts";

const known: Record<string, ModelFacts> = {
  "a/big": { context: 1_000_000, input: 10, output: 50 },
  "a/haiku": { context: 200_000, input: 1, output: 5 },
  "b/tiny": { context: 8_000, input: 0, output: 0 },
  "b/whisper": { input: 0, output: 0 },
};

const service = (lists: { backend: string; models: string[]; error?: string }[], standard = "a/big") =>
  ({
    models: async (only?: string) => lists.filter(({ backend }) => !only || backend === only),
    about: async (backend: string, model: string) => known[`${backend}/${model}`] ?? {},
    create: async () => ({ name: standard.split("/")[0], model: standard.split("/")[1] }),
  }) as unknown as Backends;

const all = [
  { backend: "a", models: ["big", "haiku"] },
  { backend: "b", models: ["tiny", "whisper"] },
  { backend: "script", models: ["offline"] },
];
const ask = (backends: Backends, text: string) => route(new TextEncoder().encode(text), backends);

test.each([
  ["hello", "a", "big", "the default"],
  ["need=cheap\n---\nhello", "b", "tiny", "the lowest"],
  ["need=cheap tools context=100000\n---\nhello", "a", "haiku", "the lowest"],
  ["need=fast\n---\nhello", "a", "haiku", "small or quick"],
  ["need=power\n---\nhello", "a", "big", "the highest"],
  ["need=power\nbackend=b\n---\nhello", "b", "tiny", "the highest"],
])("%j", async (text, backend, model, why) => {
  expect(await ask(service(all), text)).toMatch(new RegExp(`^backend=${backend}\nmodel=${model}\nwhy=${why}`));
});

test("a long task needs a window for it", async () => {
  expect(await ask(service(all), `need=cheap\n---\n${"x".repeat(40_000)}`)).toContain("model=haiku");
});

test("a window that is not known is taken where no other fits", async () => {
  const lists = [...all, { backend: "c", models: ["new"] }];
  expect(await ask(service(lists, "c/new"), "need=context=100000\n---\nx")).toContain("model=haiku");
  expect(await ask(service(lists), "need=context=5000000\n---\nx")).toContain("model=new\nwhy=the first that fits");
});

test("JSON is taken too", async () => {
  expect(await ask(service(all), JSON.stringify({ task: "x", need: ["cheap", "context=100000"] }))).toContain(
    "model=haiku",
  );
});

test("a default that does not fit is not taken", async () => {
  expect(await ask(service(all, "b/tiny"), "need=context=100000\n---\nx")).toContain("model=haiku");
});

test("the script is taken where nothing else is there", async () => {
  expect(await ask(service([{ backend: "script", models: ["offline"] }]), "x")).toContain(
    "backend=script\nmodel=offline",
  );
});

test("nothing that fits is said, with those that did not answer", async () => {
  const lists = [
    { backend: "b", models: ["tiny"] },
    { backend: "c", models: [], error: "c: no key" },
  ];
  await expect(ask(service(lists), "need=context=100000\n---\nx")).rejects.toThrow(
    "route: none of 1 models has a window of 100000 tokens (not asked: c)",
  );
});
