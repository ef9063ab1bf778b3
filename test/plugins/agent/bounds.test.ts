import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { boundsBelow, plainPrompt, profilesOf } from "../../../plugins/agent/grow.ts";
import { agentConfigs } from "../../../plugins/agent-config/configs.ts";

const agent = (bounds: string[], sandbox = "") => ({ bounds, sandbox });

test("what an agent makes is bound by its profile, and by those that bind itself", () => {
  expect(profilesOf(agent([]))).toEqual([""]);
  expect(profilesOf(agent([], "build"))).toEqual(["build"]);
  expect(boundsBelow(agent([]))).toEqual([""]);
  expect(boundsBelow(agent([], "readonly"))).toEqual(["readonly"]);
  expect(boundsBelow(agent(["readonly"]))).toEqual(["readonly"]);
  expect(boundsBelow(agent(["", "build"], "readonly"))).toEqual(["", "build", "readonly"]);
  expect(profilesOf(agent(["readonly"], "build"))).toEqual(["readonly", "build"]);
});

test("a config counts as its maker's where its name leads through a folder of theirs, unless it is trusted", () => {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "ollie-bounds-")));
  onTestFinished(() => {
    rmSync(dir, { recursive: true });
    vi.unstubAllEnvs();
  });
  for (const name of ["cfg/memory", "work/agents", "elsewhere", "mine"])
    mkdirSync(join(dir, name), { recursive: true });
  vi.stubEnv("OLLIE_CFG_PATH", join(dir, "cfg"));
  const wide = '{"prompt":"hello","hooks":{"preTurn":"id"}}';
  for (const file of ["elsewhere/a.json", "cfg/memory/b.json", "mine/c.json", "work/agents/d.json"])
    writeFileSync(join(dir, file), wide);
  symlinkSync(join(dir, "elsewhere/a.json"), join(dir, "work/agents/a.json"));
  symlinkSync(join(dir, "cfg/memory/b.json"), join(dir, "mine/b.json"));
  symlinkSync(join(dir, "work/agents"), join(dir, "linked"));
  const found = (folder: string, name: string) => agentConfigs(() => [join(dir, folder)]).load(name);
  const plain = (folder: string, name: string, more = {}) =>
    plainPrompt("x", { ...found(folder, name), ...more }, [join(dir, "work")]);
  for (const [folder, name] of [
    ["work/agents", "a"],
    ["work/agents", "d"],
    ["linked", "a"],
    ["mine", "b"],
  ] as const) {
    expect(() => plain(folder, name), `${folder}/${name}`).toThrow(/it may not have hooks \(olliesrv trust /);
    expect(plain(folder, name, { widening: [] })).toBe("hello");
    expect(plain(folder, name, { trusted: true })).toBeUndefined();
  }
  expect(plain("mine", "c")).toBeUndefined();
});
