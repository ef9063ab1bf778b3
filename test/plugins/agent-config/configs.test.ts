import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { createKernel } from "#core";
import { agentConfigs } from "../../../plugins/agent-config/configs.ts";
import agentConfig from "../../../plugins/agent-config/index.ts";

afterEach(() => vi.unstubAllEnvs());

function place(files: Record<string, string>) {
  const dir = mkdtempSync(join(tmpdir(), "ollie-test-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(dir, name, ".."), { recursive: true });
    writeFileSync(join(dir, name), text);
  }
  return { dir, configs: agentConfigs(() => [join(dir, "first"), join(dir, "second"), join(dir, "missing")]) };
}

test("the first folder that has the file wins", () => {
  const { dir, configs } = place({
    "first/a.json": '{"maxSteps":1}',
    "second/a.json": '{"maxSteps":2}',
    "second/b.json": "{}",
    "second/.hidden.json": "{}",
    "second/notes.txt": "",
  });
  expect(configs.names()).toEqual(["a", "b"]);
  expect(configs.load("a")).toMatchObject({ name: "a", file: join(dir, "first", "a.json"), maxSteps: 1 });
});

test("an empty file's defaults, and an implicit default", () => {
  const { configs } = place({ "first/a.json": '{"$schema":"x","maxTokens":null}' });
  const defaults = {
    prompt: undefined,
    tools: true,
    autoLoad: [],
    allowTools: undefined,
    disallowTools: [],
    maxSteps: 0,
    backend: undefined,
    model: undefined,
    params: {},
    hooks: {},
  };
  expect(configs.load("a")).toEqual({
    name: "a",
    file: expect.any(String),
    real: expect.any(String),
    trusted: false,
    ...defaults,
  });
  expect(configs.load("default")).toEqual({ name: "default", file: undefined, ...defaults });
});

test("an unknown name is refused with the known ones", () => {
  const { configs } = place({ "first/a.json": "{}", "second/b.json": "{}" });
  expect(() => configs.load("nope")).toThrow('agent "nope" is unknown (agents: a b)');
  for (const name of ["../first/a", "", ".hidden", "a/b", "x\0y"])
    expect(() => configs.load(name)).toThrow(/is unknown/);
});

test("every key, and the older names", () => {
  const { configs } = place({
    "first/a.json": JSON.stringify({
      prompts: ["echo a", "echo b"],
      tools: false,
      autoLoad: ["shell"],
      allowTools: [],
      disallowTools: ["x"],
      maxSteps: 7,
      backend: "script",
      model: "m",
      temperature: 0.5,
      topK: 3,
      includeReasoning: true,
      stop: ["END"],
      reasoningEffort: "low",
      hooks: { preTool: "one", stop: ["two"], postTurn: "three", userPromptSubmit: "four" },
    }),
  });
  expect(configs.load("a")).toMatchObject({
    prompt: ["echo a", "echo b"],
    tools: false,
    autoLoad: ["shell"],
    allowTools: [],
    disallowTools: ["x"],
    maxSteps: 7,
    backend: "script",
    model: "m",
    params: { temperature: 0.5, topK: 3, includeReasoning: true, stop: ["END"], reasoningEffort: "low" },
    hooks: { preTool: ["one"], postTurn: ["two", "three"], preTurn: ["four"] },
  });
});

test("what is wrong is said in one sentence with key and file", () => {
  const cases: [string, RegExp][] = [
    ["{", /^agent a: broken JSON: .*\(.*a\.json\)$/],
    ["", /broken JSON/],
    ["[]", /the file has to hold one JSON object/],
    ['{"prompt":1}', /key "prompt" has to be a string or a list of strings/],
    ['{"hooks":1}', /key "hooks" has to be an object/],
    ['{"hooks":{"preTool":1}}', /key "hooks.preTool" has to be a string or a list of strings/],
    ['{"tools":"no"}', /key "tools" has to be true or false/],
    ['{"maxSteps":-1}', /key "maxSteps" has to be a whole number from 0/],
    ['{"maxSteps":"7"}', /key "maxSteps"/],
    ['{"temperature":"hot"}', /key "temperature" has to be a number/],
    ['{"autoLoad":["a",1]}', /key "autoLoad" has to be a list of strings/],
  ];
  for (const [text, message] of cases) {
    const { configs } = place({ "first/a.json": text });
    expect(() => configs.load("a"), text).toThrow(message);
  }
});

test("keys without effect are ignored, and told", () => {
  const { dir, configs } = place({
    "first/a.json": '{"modle":"m","maxSteps":2}',
    "first/b.json": '{"prompt":"x","prompts":[],"__proto__":1}',
  });
  expect(configs.load("a")).toMatchObject({
    maxSteps: 2,
    warning: `key "modle" has no effect (${join(dir, "first/a.json")})`,
  });
  expect(configs.load("b").warning).toMatch(/^keys "prompts", "__proto__" have no effect \(/);
});

test("/agents tells what is wrong with a file behind its name", async () => {
  const { dir } = place({ "first/bad.json": "{", "first/slip.json": '{"modle":"m"}' });
  vi.stubEnv("OLLIE_AGENTS_PATH", join(dir, "first"));
  const kernel = createKernel({ plugins: [agentConfig()] });
  onTestFinished(() => kernel.close());
  await kernel.start();
  const [bad, , , slip] = (await kernel.fs.read("/agents")).split("\n");
  expect(bad).toMatch(/^bad\tbroken JSON: .*bad\.json\)$/);
  expect(slip).toBe(`slip\tkey "modle" has no effect (${join(dir, "first/slip.json")})`);
});

test("/agents lists the names; OLLIE_AGENTS_PATH comes before the package's own", async () => {
  const { dir } = place({ "first/mine.json": "{}", "second/other.json": "{}" });
  vi.stubEnv("OLLIE_AGENTS_PATH", `${join(dir, "first")}:${join(dir, "second")}`);
  const kernel = createKernel({ plugins: [agentConfig()] });
  onTestFinished(() => kernel.close());
  await kernel.start();
  expect(await kernel.fs.read("/agents")).toBe("coding\ndefault\nmine\nother\n");
});
