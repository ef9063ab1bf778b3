/** Where requests go, with which key, and what /v1/models gives. */
import { expect, test } from "vitest";
import { openaiBackend } from "../../../plugins/backend-openai/factory.ts";
import { settings } from "../../../plugins/backend-openai/settings.ts";
import type { Backend } from "../../../plugins/backends/types.ts";
import { raw, stall, status, text } from "../../fakes/openai.ts";
import { ask, backendOf, failure, fakeProvider } from "./helpers.ts";

const official = "https://api.openai.com/v1";

test.each([
  ["http://127.0.0.1:8080", "http://127.0.0.1:8080/v1"],
  ["http://127.0.0.1:8080/", "http://127.0.0.1:8080/v1"],
  ["http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1"],
  ["http://127.0.0.1:8080/v1//", "http://127.0.0.1:8080/v1"],
  ["https://router.example/api", "https://router.example/api/v1"],
  ["https://llm.example/v1beta/openai/", "https://llm.example/v1beta/openai"],
])("OLLIE_OPENAI_URL %s is %s", (url, base) => {
  expect(settings({ OLLIE_OPENAI_URL: url })).toMatchObject({ baseURL: base, key: "", official: false });
});

test("keys and URLs are taken in the order of the manual", () => {
  expect(settings({})).toEqual({ missing: "OLLIE_OPENAI_KEY or OPENAI_API_KEY is not set, nor OLLIE_OPENAI_URL" });
  expect(settings({ OPENAI_API_KEY: " b\n" })).toEqual({
    baseURL: official,
    key: "b",
    official: true,
    router: false,
    why: "OPENAI_API_KEY is set",
  });
  expect(settings({ OLLIE_OPENAI_KEY: "a", OPENAI_API_KEY: "b" })).toMatchObject({ key: "a" });
  expect(settings({ OPENAI_API_KEY: "b", OPENAI_BASE_URL: "http://x/y/" })).toMatchObject({ baseURL: "http://x/y" });
  expect(settings({ OLLIE_OPENAI_URL: "http://a" }, "http://b")).toMatchObject({
    baseURL: "http://a/v1",
    why: "OLLIE_OPENAI_URL (no key) is set",
  });
});

test("available says why, and asks nobody", async () => {
  const fetch = () => {
    throw new Error("asked the network");
  };
  const of = (env: Record<string, string>) => openaiBackend({ env, fetch }).available();
  expect(await of({})).toMatchObject({ ok: false });
  expect(await of({ OPENAI_API_KEY: "k" })).toEqual({ ok: true, why: "OPENAI_API_KEY is set" });
  expect(await of({ OLLIE_OPENAI_URL: "http://x" })).toMatchObject({ ok: true });
});

test("a key is sent as a bearer, and none as nothing", async () => {
  const fake = await fakeProvider();
  fake.always(() => [text("ok")]);
  await ask(backendOf(fake));
  await ask(backendOf(fake, { env: { OPENAI_API_KEY: "sk-1" } }));
  expect(fake.requests.map(({ headers }) => headers.authorization)).toEqual([undefined, "Bearer sk-1"]);
});

test("a key that comes later is used without a new backend", async () => {
  const fake = await fakeProvider({ key: "sk-2" });
  fake.reply(text("ok"));
  const env: Record<string, string> = {};
  const backend = openaiBackend({ env }).create({ model: "m" }) as Backend;
  expect(failure(await ask(backend))).toMatchObject({
    kind: "auth",
    message: expect.stringContaining("OLLIE_OPENAI_KEY"),
  });
  Object.assign(env, { OLLIE_OPENAI_URL: fake.url, OLLIE_OPENAI_KEY: "sk-2" });
  expect((await ask(backend)).text).toBe("ok");
});

test("a URL that is none is said by its variable", async () => {
  const backend = openaiBackend({ env: { OLLIE_OPENAI_URL: "localhost:8080" } }).create({ model: "m" }) as Backend;
  expect(failure(await ask(backend)).message).toBe("openai: OLLIE_OPENAI_URL is not an http or https URL");
});

test("a default model is for the provider's own endpoint", () => {
  expect(openaiBackend({ env: { OPENAI_API_KEY: "k" } }).defaultModel).toBeUndefined();
  expect(openaiBackend({ env: { OLLIE_OPENAI_URL: "http://x" } }).defaultModel).toBe("");
});

test("models are sorted, once each, odd ones left out", async () => {
  const fake = await fakeProvider({ models: ["zeta", "alpha", { id: 7 }, { id: "" }, "alpha", "vendor/m:free"] });
  expect(await backendOf(fake).models()).toEqual(["alpha", "vendor/m:free", "zeta"]);
});

test.each([
  ["401", [status(401), raw('{"error":{"message":"no"}}')], "auth"],
  ["404", [status(404), raw("not here")], "badRequest"],
  ["HTML with 200", [raw("<html><head><title>hello</title></head></html>")], "badRequest"],
  ["JSON of something else", [raw('{"a":1}')], "badRequest"],
])("H-109: a list of models that answers %s is an error, and the context length unknown", async (_, parts, kind) => {
  const fake = await fakeProvider();
  fake.models(...parts);
  await expect(backendOf(fake).models()).rejects.toMatchObject({ kind });
  expect(await backendOf(fake).contextLength()).toBeUndefined();
});

test("H-109: a list of models that hangs can be left", async () => {
  const fake = await fakeProvider();
  fake.models(stall());
  const reason = new Error("long enough");
  const stop = new AbortController();
  setTimeout(() => stop.abort(reason), 50);
  await expect(backendOf(fake).models(stop.signal)).rejects.toBe(reason);
});

test.each([
  [{ context_length: 131072 }, 131072],
  [{ context_length: "128000" }, 128000],
  [{ max_model_len: 32768 }, 32768],
  [{ context_length: 0, context_window: 8192 }, 8192],
  [{ context_length: 0 }, undefined],
  [{ context_length: null }, undefined],
  [{ context_length: -1 }, undefined],
  [{}, undefined],
])("H-108: a row with %j has context length %s", async (row, tokens) => {
  const fake = await fakeProvider({ models: [{ id: "fake-1", ...row }] });
  expect(await backendOf(fake).contextLength()).toBe(tokens);
});

test("the context length follows the model", async () => {
  const fake = await fakeProvider({
    models: [
      { id: "fake-1", context_length: 1000 },
      { id: "fake-2", context_length: 2000 },
    ],
  });
  const backend = backendOf(fake);
  expect(await backend.contextLength()).toBe(1000);
  backend.setModel("fake-2");
  expect([backend.model, await backend.contextLength()]).toEqual(["fake-2", 2000]);
});
