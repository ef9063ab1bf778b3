/** The template command as prompt commands call it, and the stock agents that use it. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { packageRoot } from "#core";
import { agentConfigs } from "../../../plugins/agent-config/configs.ts";
import { prime } from "../../../plugins/prompts/prime.ts";
import { render } from "../../../plugins/prompts/render.ts";

afterEach(() => vi.unstubAllEnvs());

function place() {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "ollie test-")));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const prompts = join(dir, "prompts");
  mkdirSync(prompts);
  vi.stubEnv("OLLIE_PROMPTS_PATH", prompts);
  vi.stubEnv("HOME", dir);
  return { dir, prompts };
}

const go = (prompt: string[], cwd: string, env: Record<string, string> = {}) =>
  render(prompt, { cwd, env, prime: prime(cwd), signal: new AbortController().signal });

test("the user's template comes before the package's, and its variables are replaced", async () => {
  const { dir, prompts } = place();
  writeFileSync(join(prompts, "environment.md"), `mine: \${WHAT}, \${UNSET}. $WHAT \${not a name}\n\${WHAT}\${WHAT}\n`);
  expect(await go(["ollie-prime environment"], dir, { WHAT: "a&b\\1" })).toBe(
    `mine: a&b\\1, . $WHAT \${not a name}\na&b\\1a&b\\1`,
  );
});

test("several templates are parted by a blank line", async () => {
  const { dir, prompts } = place();
  writeFileSync(join(prompts, "a.md"), "one\n");
  writeFileSync(join(prompts, "b.md"), "two");
  expect(await go(["ollie-prime a b.md a"], dir)).toBe("one\n\ntwo\n\none");
});

test("an unknown template fails, naming it", async () => {
  const { dir, prompts } = place();
  await expect(go(["ollie-prime nope"], dir)).rejects.toThrow(`no template "nope" (searched ${prompts}`);
  await expect(go(["ollie-prime ../secret"], dir)).rejects.toThrow('"../secret" is no template name');
});

test("AGENTS.md files count from the repository's root down, outermost first, as they stand", async () => {
  const { dir } = place();
  const cwd = join(dir, "repo", "sub dir");
  mkdirSync(cwd, { recursive: true });
  mkdirSync(join(dir, "repo", ".git"));
  writeFileSync(join(dir, "AGENTS.md"), "outside\n");
  writeFileSync(join(dir, "repo", "AGENTS.md"), `root \${HOME}\n`);
  writeFileSync(join(cwd, "AGENTS.md"), "inner\n");
  expect(await go(["ollie-prime agents-md"], cwd)).toBe(
    `## Instructions of this project: ${join(dir, "repo", "AGENTS.md")}\n\nroot \${HOME}\n\n` +
      `## Instructions of this project: ${join(cwd, "AGENTS.md")}\n\ninner`,
  );
});

test("outside of a repository and of the home folder only the directory's own AGENTS.md counts", async () => {
  const { dir } = place();
  vi.stubEnv("HOME", "/nonexistent");
  const cwd = join(dir, "a");
  mkdirSync(cwd);
  writeFileSync(join(dir, "AGENTS.md"), "somebody else's\n");
  expect(await go(["ollie-prime agents-md"], cwd)).toBe("");
  writeFileSync(join(cwd, "AGENTS.md"), "own\n");
  expect(await go(["ollie-prime agents-md"], cwd)).toMatch(/^## Instructions .*\n\nown$/);
});

test("an AGENTS.md that leads out of its folder is not read: tools can make links", async () => {
  const { dir } = place();
  const cwd = join(dir, "repo");
  mkdirSync(join(cwd, "docs"), { recursive: true });
  mkdirSync(join(cwd, ".git"));
  writeFileSync(join(dir, "env"), "OPENAI_API_KEY=sk-1\n");
  symlinkSync("../env", join(cwd, "AGENTS.md"));
  expect(await go(["ollie-prime agents-md"], cwd)).toBe(
    `## Instructions of this project: ${cwd}/AGENTS.md\n\n(not read: it leads out of its folder, or you may not read it)`,
  );
  rmSync(join(cwd, "AGENTS.md"));
  writeFileSync(join(cwd, "docs/agents.md"), "linked\n");
  symlinkSync("docs/agents.md", join(cwd, "AGENTS.md"));
  expect(await go(["ollie-prime agents-md"], cwd)).toMatch(/\n\nlinked$/);
});

test("of many AGENTS.md files the nearest count", async () => {
  const { dir } = place();
  let cwd = join(dir, "repo");
  mkdirSync(join(cwd, ".git"), { recursive: true });
  for (let n = 0; n < 9; n++) {
    writeFileSync(join(cwd, "AGENTS.md"), `number ${n}\n`);
    cwd = join(cwd, "d");
    mkdirSync(cwd);
  }
  const text = await go(["ollie-prime agents-md"], cwd);
  expect(text.match(/^number \d$/gm)).toEqual([2, 3, 4, 5, 6, 7, 8].map((n) => `number ${n}`));
});

test("a long AGENTS.md is cut and says so", async () => {
  const { dir } = place();
  writeFileSync(join(dir, "AGENTS.md"), "0123456789\n".repeat(10_000));
  const text = await go(["ollie-prime agents-md"], dir);
  expect(text.length).toBeLessThan(66_000);
  expect(text).toMatch(/\(cut here: the file is longer than 65536 bytes\)$/);
});

test("the stock agents load, and render in any folder", async () => {
  const { dir } = place();
  const configs = agentConfigs(() => [join(packageRoot(), "data", "agents")]);
  expect(configs.names()).toEqual(["coding", "default"]);
  for (const name of configs.names()) {
    const { prompt, autoLoad } = configs.load(name);
    const text = await render(prompt, { cwd: dir, env: {}, prime: prime(dir), signal: new AbortController().signal });
    expect(text).toContain(`- Working directory: ${dir}\n`);
    expect(text).not.toMatch(/\$\{|ollie-prime/);
    expect(text.includes("## Changing code")).toBe(name === "coding");
    expect(autoLoad).toContain("shell");
  }
});
