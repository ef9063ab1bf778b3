/** Failures by status, headers and body, over real HTTP. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { openaiBackend } from "../../../plugins/backend-openai/factory.ts";
import { retryAfter } from "../../../plugins/backends/retry-after.ts";
import type { Backend, BackendErrorKind } from "../../../plugins/backends/types.ts";
import { text } from "../../fakes/openai.ts";
import { ask, backendOf, failure, fakeProvider } from "./helpers.ts";

test.each<[number, string | object, BackendErrorKind]>([
  [429, { message: "slow down" }, "rateLimit"],
  [429, { code: "insufficient_quota", message: "You exceeded your current quota" }, "quota"],
  [429, { message: "daily quota is used up" }, "quota"],
  [402, { message: "Insufficient credits" }, "quota"],
  [401, { message: "bad key" }, "auth"],
  [403, { message: "not for you" }, "auth"],
  [413, "<html><body>too large</body></html>", "overflow"],
  [400, { code: "context_length_exceeded", message: "too long" }, "overflow"],
  [400, { message: "This model's maximum context length is 8192 tokens" }, "overflow"],
  [400, { message: "the request exceeds the available context size" }, "overflow"],
  [400, { message: "Prompt Is Too Long" }, "overflow"],
  [404, { message: "No endpoints found that support tool use" }, "toolUnsupported"],
  [400, { message: "registry/llama does not support tools" }, "toolUnsupported"],
  [500, { message: "tools param requires --jinja flag" }, "toolUnsupported"],
  [429, { message: "too many tokens per minute" }, "rateLimit"],
  [500, { message: "oops" }, "transient"],
  [503, "<html><head><title>503 Service Temporarily Unavailable</title></head></html>", "transient"],
  [529, { message: "overloaded" }, "transient"],
  [408, { message: "timeout" }, "transient"],
  [409, { message: "conflict" }, "transient"],
  [400, { message: "bad field" }, "badRequest"],
  [404, { message: "The model `x` does not exist", code: "model_not_found" }, "badRequest"],
  [422, '{"detail":"unprocessable"}', "badRequest"],
])("status %i with %j is %s", async (code, body, kind) => {
  const fake = await fakeProvider();
  fake.error(code, body);
  const error = failure(await ask(backendOf(fake)));
  expect(error.kind).toBe(kind);
  expect(error.status).toBe(code);
  expect(error.message).toMatch(new RegExp(`^openai: ${code} .+`));
  expect(error.message).not.toContain("\n");
  expect(fake.requests).toHaveLength(1);
});

test("the provider's own words are kept, from whatever shape they come in", async () => {
  const fake = await fakeProvider();
  fake.error(400, { message: "temperature must be\n between 0 and 2" });
  fake.error(400, '{"message":"top level"}');
  fake.error(400, '{"error":"just a text"}');
  fake.error(422, '{"detail":[{"loc":["body","x"],"msg":"field required"}]}');
  fake.error(400, "plain text");
  fake.error(502, { message: "Provider returned error", metadata: { raw: "out of memory" } });
  fake.error(500, "");
  fake.error(400, { message: "long ".repeat(1000) });
  const backend = backendOf(fake);
  const next = async () => failure(await ask(backend)).message;
  expect(await next()).toBe("openai: 400 temperature must be between 0 and 2");
  expect(await next()).toBe("openai: 400 top level");
  expect(await next()).toBe("openai: 400 just a text");
  expect(await next()).toContain("field required");
  expect(await next()).toBe("openai: 400 plain text");
  expect(await next()).toBe("openai: 502 Provider returned error: out of memory");
  expect(await next()).toBe("openai: 500");
  expect((await next()).length).toBeLessThan(600);
});

test.each<[string, Record<string, string>, number | undefined]>([
  ["seconds", { "retry-after": "3" }, 3000],
  ["milliseconds", { "retry-after-ms": "1500", "retry-after": "9" }, 1500],
  ["a long time", { "retry-after": "99999" }, 99_999_000],
  ["zero", { "retry-after": "0" }, undefined],
  ["a negative number", { "retry-after": "-5" }, undefined],
  ["a word", { "retry-after": "soon" }, undefined],
  ["a past date", { "retry-after": "Wed, 21 Oct 2015 07:28:00 GMT" }, undefined],
])("H-016: Retry-After as %s", async (_, headers, ms) => {
  const fake = await fakeProvider();
  for (const code of [429, 503, 529]) fake.error(code, { message: "later" }, headers);
  const backend = backendOf(fake);
  for (let n = 0; n < 3; n++) expect(failure(await ask(backend)).retryAfterMs).toBe(ms);
});

test("H-016: Retry-After as a date, and times in the provider's words", () => {
  const now = Date.parse("2026-01-01T00:00:00Z");
  const at = (value: string) => retryAfter(new Headers({ "retry-after": value }), "", now);
  expect(at("Thu, 01 Jan 2026 00:00:07 GMT")).toBe(7000);
  const says = (body: string) => retryAfter(undefined, body, now);
  expect(says("Please try again in 6m12.5s.")).toBe(372_500);
  expect(says("Usage limit reached, resets in 2 days")).toBe(2 * 86_400_000);
  expect(says("try again in 350ms")).toBe(350);
  expect(says("retry after 350 milliseconds")).toBe(350);
  expect(says("Try again in 1 hour 5 minutes")).toBe(3_900_000);
  expect(says("limit resets at 2026-01-01T02:00:00Z")).toBe(7_200_000);
  expect(says("try again later")).toBeUndefined();
});

test("H-017: an exhausted quota is one request", async () => {
  const fake = await fakeProvider();
  fake.error(429, { code: "insufficient_quota", message: "no credit" });
  fake.reply(text("must not be asked for"));
  expect(failure(await ask(backendOf(fake))).kind).toBe("quota");
  expect(fake.requests).toHaveLength(1);
});

test("a server that is not there is transient, and named without what the URL may hide", async () => {
  const closed = createServer();
  await new Promise<void>((resolve) => closed.listen(0, "127.0.0.1", resolve));
  const { port } = closed.address() as AddressInfo;
  await new Promise((resolve) => closed.close(resolve));
  const env = { OLLIE_OPENAI_URL: `http://127.0.0.1:${port}/secret-path` };
  const backend = openaiBackend({ env }).create({ model: "m" }) as Backend;
  const error = failure(await ask(backend));
  expect(error.kind).toBe("transient");
  expect(error.message).toContain(`http://127.0.0.1:${port}: `);
  expect(error.message).toContain("ECONNREFUSED");
  expect(error.message).not.toContain("secret-path");
});

test("a key never stands in an error, even where the provider repeats it", async () => {
  const fake = await fakeProvider({ key: "sk-right-0123456789" });
  const key = "sk-wrong-9876543210";
  const refused = failure(await ask(backendOf(fake, { env: { OLLIE_OPENAI_KEY: key } })));
  expect(refused.kind).toBe("auth");
  expect(refused.message).toBe("openai: 401 Incorrect API key provided: [key]");
  const broken = failure(await ask(backendOf(fake, { env: { OLLIE_OPENAI_KEY: "sk-wrong\u00e9-98765" } })));
  expect(broken.kind).toBe("auth");
  expect(broken.message).not.toContain("98765");
});
