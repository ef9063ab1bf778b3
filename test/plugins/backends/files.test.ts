/** /backends and /models in a kernel, with the plugins as a daemon loads them. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createKernel, type Kernel, silent, type Use } from "../../../core/index.ts";
import backendOpenAI from "../../../plugins/backend-openai/index.ts";
import backendScript from "../../../plugins/backend-script/index.ts";
import backends from "../../../plugins/backends/index.ts";
import { Backends } from "../../../plugins/backends/types.ts";
import { invalidate } from "../../../plugins/control/types.ts";
import events from "../../../plugins/events/index.ts";
import { Events } from "../../../plugins/events/types.ts";
import { type OpenAIFake, openaiFake } from "../../fakes/openai.ts";

const ours = /^(OLLIE_|OPENAI_|OPENROUTER_)/;
let kept: NodeJS.ProcessEnv;
let folder: string;
let kernel: Kernel | undefined;
let fake: OpenAIFake | undefined;

beforeEach(async () => {
  kept = { ...process.env };
  for (const name of Object.keys(process.env)) if (ours.test(name)) delete process.env[name];
  folder = await mkdtemp(join(tmpdir(), "ollie-backends-"));
  process.env.OLLIE_CFG_PATH = folder;
});
afterEach(async () => {
  await kernel?.close();
  await fake?.close();
  kernel = fake = undefined;
  for (const name of Object.keys(process.env)) if (ours.test(name)) delete process.env[name];
  Object.assign(process.env, kept);
  await rm(folder, { recursive: true, force: true });
});

async function start(...uses: Use[]): Promise<Kernel> {
  kernel = createKernel({ plugins: uses.length > 0 ? uses : [backendOpenAI(), backends(), backendScript()] });
  await kernel.start();
  return kernel;
}

test("with nothing set the script is chosen, and backends says why", async () => {
  const { fs } = await start();
  expect(await fs.read("/backends")).toBe(
    "  openai\t-\tOLLIE_OPENAI_KEY or OPENAI_API_KEY is not set, nor OLLIE_OPENAI_URL\n" +
      "  openrouter\t-\tOLLIE_OPENROUTER_KEY or OPENROUTER_API_KEY is not set\n" +
      "* script\tusable\tthe offline script: always there, but no model\n",
  );
  expect(await fs.read("/models")).toBe("script/offline\n");
  expect((await fs.stat("/backends")).mode & 0o777).toBe(0o444);
});

test("a key in the config directory's env file is found, and its value shown nowhere", async () => {
  await writeFile(join(folder, "env"), "OLLIE_OPENAI_KEY=sk-planted-0123\n");
  const { fs } = await start();
  const text = await fs.read("/backends");
  expect(text).toContain("* openai\tusable\tOLLIE_OPENAI_KEY is set\n");
  expect(text).not.toContain("sk-planted");
});

test("lines of the env file without effect are told, in backends, in an event and in the log; not what stands in them", async () => {
  await writeFile(join(folder, "env"), "# a key\nsk-planted-0123\n");
  const told: string[] = [];
  const log = { ...silent, child: () => log, warn: (text: string) => void told.push(text) };
  kernel = createKernel({ plugins: [events(), backends(), backendScript()], log });
  await kernel.start();
  const fault = `${join(folder, "env")}: line 2 is no NAME=VALUE and has no effect`;
  const listed = async () => (await kernel?.fs.read("/backends"))?.split("\n").slice(-2);
  expect(await listed()).toEqual([fault, ""]);
  expect(told).toEqual([fault]);
  const lines = kernel.use(Events)?.subscribe("backends.*");
  await writeFile(join(folder, "env"), "nonsense\n");
  const other = fault.replace("line 2", "line 1");
  expect(await listed()).toEqual([other, ""]);
  expect(told).toEqual([fault, other]);
  for await (const line of lines ?? []) {
    expect(String(line)).toBe(`E backends ${other}\n`);
    break;
  }
});

test("models lists what is usable, with a line for what fails", async () => {
  fake = await openaiFake({ models: ["b", "a/x", "odd\nname"] });
  process.env.OLLIE_OPENAI_URL = fake.url;
  const { fs, call } = await start();
  expect(await fs.read("/models")).toBe("openai/a/x\nopenai/b\nopenai/odd name\nscript/offline\n");
  await fake.close();
  expect(await fs.read("/models")).toContain("openai/b\n");
  call(invalidate, "models");
  expect(await fs.read("/models")).toMatch(/^openai: http:\/\/127.*ECONNREFUSED.*\nscript\/offline\n$/);
});

test("an unknown OLLIE_BACKEND leaves backends readable", async () => {
  process.env.OLLIE_BACKEND = "opnai";
  const { fs } = await start();
  expect(await fs.read("/backends")).toMatch(
    / {2}script\tusable\t.*\nOLLIE_BACKEND: unknown backend "opnai" \(known: openai openrouter script\)\n$/,
  );
});

test("the choice of the config is shown as such", async () => {
  process.env.OPENAI_API_KEY = "sk-1";
  const { fs } = await start(backends({ backend: "script" }), backendOpenAI(), backendScript());
  expect(await fs.read("/backends")).toContain("* script\tusable\tchosen by the config; the offline script");
});

test("the service makes a backend that answers", async () => {
  const { use } = await start(backends(), backendScript({ scenario: { model: "demo", replies: ["hello"] } }));
  const backend = await use(Backends)?.create({});
  expect([backend?.name, backend?.model]).toEqual(["script", "demo"]);
  let said = "";
  for await (const event of backend?.chatStream([], [], {}, new AbortController().signal) ?? [])
    if (event.type === "text") said += event.text;
  expect(said).toBe("hello");
});

test("a wrong option is refused with its path", async () => {
  await expect(start(backends({ modle: "x" } as never))).rejects.toThrow(/modle/);
});
