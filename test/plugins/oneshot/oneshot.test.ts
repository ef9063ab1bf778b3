/** complete, generate and route in a kernel, with a provider over real HTTP. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createKernel, type Kernel } from "../../../core/index.ts";
import backendOpenAI from "../../../plugins/backend-openai/index.ts";
import backends from "../../../plugins/backends/index.ts";
import { Backends } from "../../../plugins/backends/types.ts";
import { generate } from "../../../plugins/oneshot/generate.ts";
import oneshot from "../../../plugins/oneshot/index.ts";
import { gate, type OpenAIFake, openaiFake, text, usage } from "../../fakes/openai.ts";

const ours = /^(OLLIE_|OPENAI_|OPENROUTER_)/;
let kept: NodeJS.ProcessEnv;
let folder: string;
let kernel: Kernel;
let fake: OpenAIFake;

beforeEach(async () => {
  kept = { ...process.env };
  for (const name of Object.keys(process.env)) if (ours.test(name)) delete process.env[name];
  folder = await mkdtemp(join(tmpdir(), "ollie-oneshot-"));
  fake = await openaiFake({ models: ["fake-1", "gpt-5.4", "gpt-5.4-mini", "text-embedding-3", "unheard-of"] });
  Object.assign(process.env, fake.env, { OLLIE_CFG_PATH: folder });
  kernel = createKernel({ plugins: [backends(), backendOpenAI(), oneshot()] });
  await kernel.start();
});
afterEach(async () => {
  await kernel.close();
  await fake.close();
  for (const name of Object.keys(process.env)) if (ours.test(name)) delete process.env[name];
  Object.assign(process.env, kept);
  await rm(folder, { recursive: true, force: true });
});

const ask = (file: string, body: string) => kernel.fs.rdwr(`/${file}`, body);
const sent = (n = 0) => fake.requests[n]?.body;

test("the files may be used by everybody, and tell their keys when they are read first", async () => {
  for (const [file, keys] of [
    ["complete", "suffix"],
    ["generate", "schema"],
    ["route", "need"],
  ] as const) {
    expect((await kernel.fs.stat(`/${file}`)).mode & 0o777).toBe(0o666);
    expect(await kernel.fs.read(`/${file}`)).toContain(keys);
  }
  expect(fake.requests).toEqual([]);
});

test("generate: a body alone is the prompt", async () => {
  fake.reply(text("four"));
  expect(await ask("generate", "what is 2+2?\n---\nreally")).toBe("four");
  expect(sent().messages).toEqual([{ role: "user", content: "what is 2+2?\n---\nreally" }]);
});

test.each([
  ["lines", "system=be brief\ntemperature=0.5\nmaxTokens=7\nmodel=fake-2\n\n---\nhello\n"],
  ["JSON", JSON.stringify({ system: "be brief", temperature: 0.5, maxTokens: 7, model: "fake-2", prompt: "hello\n" })],
])("generate: keys as %s", async (_, body) => {
  fake.reply(text("hi"));
  expect(await ask("generate", body)).toBe("hi");
  expect(sent()).toMatchObject({
    model: "fake-2",
    temperature: 0.5,
    max_tokens: 7,
    messages: [
      { role: "system", content: "be brief" },
      { role: "user", content: "hello\n" },
    ],
  });
});

test("generate: the answer comes as it is made, and leaving it ends the request", async () => {
  let open = () => {};
  fake.reply(
    text("one "),
    gate(
      new Promise<void>((resolve) => {
        open = resolve;
      }),
    ),
    text("two"),
  );
  const service = await kernel.use(Backends);
  const stop = new AbortController();
  const pieces = (await generate(new TextEncoder().encode("go"), service as Backends, stop.signal))[
    Symbol.asyncIterator
  ]();
  expect((await pieces.next()).value).toBe("one ");
  const next = pieces.next();
  stop.abort(new Error("left"));
  await expect(next).rejects.toThrow("left");
  expect(await fake.requests[0]?.closed).toBe(true);
  open();
});

const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"], additionalProperties: false };

test("generate: a schema binds the reply, fences or not", async () => {
  fake.reply(text('```json\n{"n": 4}\n```'));
  expect(await ask("generate", JSON.stringify({ prompt: "2+2", schema }))).toBe('{"n":4}\n');
  expect(sent().messages[0].content).toContain('"required":["n"]');
  expect(sent().response_format).toEqual({ type: "json_object" });
});

test.each([
  ["no JSON", "the answer is 4"],
  ["against the schema", '{"n":"four"}'],
])("generate: a reply that is %s gets one chance", async (_, wrong) => {
  fake.reply(text(wrong));
  fake.reply(text('{"n":4}'));
  expect(await ask("generate", `schema=${JSON.stringify(schema)}\n---\n2+2`)).toBe('{"n":4}\n');
  const [, , reply, why] = sent(1).messages;
  expect([reply.content, why.content]).toEqual([wrong, expect.stringMatching(/not accepted: (it is no JSON|n: )/)]);
  fake.reply(text(wrong));
  fake.reply(text(wrong));
  await expect(ask("generate", JSON.stringify({ prompt: "x", schema }))).rejects.toThrow(
    /not accepted, nor its correction/,
  );
  expect(fake.requests).toHaveLength(4);
});

test("generate: output=json takes any JSON", async () => {
  fake.reply(text("[1, 2]"));
  expect(await ask("generate", "output=json\n---\nlist")).toBe("[1,2]\n");
});

test.each<[string, string, RegExp]>([
  ["generate", "modle=x\n---\nhi", /^generate: unknown key "modle" \(keys: backend model/],
  ["generate", "model=x\nnonsense\n---\nhi", /"nonsense" is no key=value line/],
  ["generate", "---\n \n", /the body is empty/],
  ["generate", "temperature=hot\n---\nhi", /temperature must be a number from 0 to 2/],
  ["generate", "schema={\n---\nhi", /schema is no JSON/],
  ["generate", "output=xml\n---\nhi", /output must be json or text/],
  ["generate", "backend=opnai\n---\nhi", /unknown backend "opnai"/],
  ["complete", "max=0\n---\nx", /max must be a whole number from 1/],
  ["route", "need=magic\n---\nx", /unknown need "magic"/],
  ["route", "need=cheap,power\n---\nx", /exclude each other/],
])("%s refuses %j", async (file, body, words) => {
  await expect(ask(file, body)).rejects.toThrow(words);
  expect(fake.requests).toEqual([]);
});

test("generate: failures are in the provider's words", async () => {
  fake.error(400, { message: "no such field" });
  await expect(ask("generate", "hi")).rejects.toThrow("generate: openai: 400 no such field");
  fake.reply(text(" "));
  await expect(ask("generate", "hi")).rejects.toThrow("gave an empty reply");
});

test("complete: the text between, clean", async () => {
  fake.reply(text("```ts\nreturn a + b;\n```\n"));
  const body = "file=add.ts\nlanguage=typescript\n---\nfunction add(a, b) {\n  \n---\n}\n";
  expect(await ask("complete", body)).toBe("return a + b;");
  expect(sent().messages[1].content).toBe(
    "File: add.ts\nLanguage: typescript\n<before>function add(a, b) {\n  </before>\n<behind>}\n</behind>",
  );
});

test("complete: as JSON, with a backend of its own", async () => {
  process.env.OLLIE_COMPLETE_MODEL = "small-1";
  fake.reply(text("const x = 1;\nconst y = 2;\nconst z = 3;"));
  expect(
    await ask("complete", JSON.stringify({ prefix: "const x = ", suffix: "\nconst z = 3;", context: "notes" })),
  ).toBe("1;\nconst y = 2;");
  expect(sent()).toMatchObject({ model: "small-1", max_tokens: 1024 });
});

test("H-110: what generate and complete use is in the server's total", async () => {
  fake.reply(text("a"), usage(1000, 100));
  fake.reply(text("b"), usage(500, 50));
  await ask("generate", "hi");
  await ask("complete", "x");
  expect(await kernel.fs.read("/usage")).toMatch(/^openai\/fake-1\t1500 in, 150 out, 2 requests/);
});

test.each<[string, string]>([
  ["", "fake-1"],
  ["need=cheap", "gpt-5.4-mini"],
  ["need=power tools", "gpt-5.4"],
  ["need=fast,tools,context=50000", "gpt-5.4-mini"],
])("route with %j takes %s and says why", async (head, model) => {
  const reply = await ask("route", `${head}\n---\nwrite a parser`.replace(/^\n/, ""));
  expect(reply).toMatch(new RegExp(`^backend=openai\nmodel=${model}\nwhy=.+; .+; \\d of 5 models fit\n$`));
});
