/** Real shells, real files. */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { prime } from "../../../plugins/prompts/prime.ts";
import { render } from "../../../plugins/prompts/render.ts";
import { run } from "../../../plugins/prompts/run.ts";

afterEach(() => vi.unstubAllEnvs());

function tempDir(): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "ollie-test-")));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  vi.stubEnv("OLLIE_CFG_PATH", dir);
  return dir;
}

const at = (cwd: string, env: Record<string, string> = {}, signal = new AbortController().signal) => ({
  cwd,
  env,
  prime: prime(cwd, new Date(2026, 0, 2)),
  signal,
});

const alive = (pid: number): boolean => {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
};

test("a list runs each command in the directory and joins what they print", async () => {
  const dir = tempDir();
  expect(
    await render(
      ["pwd", "  ", "true", "printf 'a\\nb\\n\\n'", 'echo "$PRIME_DATE $OLLIE $PWD $X"'],
      at(dir, { X: "set" }),
    ),
  ).toBe(`${dir}\na\nb\n2026-01-02 ollie ${dir} set`);
});

test("a command that fails names itself and what it said, and nothing is rendered", async () => {
  const dir = tempDir();
  const marker = join(dir, "ran");
  await expect(render(["echo fine", "echo oh no >&2; exit 3", `touch ${marker}`], at(dir))).rejects.toThrow(
    'prompt command "echo oh no >&2; exit 3" failed (exit 3): oh no',
  );
  expect(() => readFileSync(marker)).toThrow();
  await expect(render(["kill -9 $$"], at(dir))).rejects.toThrow("failed (killed by SIGKILL)");
  await expect(render(["true"], at(join(dir, "gone")))).rejects.toThrow(
    `the directory ${join(dir, "gone")} does not exist`,
  );
});

test("one string is a text, a command or a file", async () => {
  const dir = tempDir();
  writeFileSync(join(dir, "prompt.md"), "from the file\n\n");
  expect(await render(`  You are $ROLE in \${PLACE}\${NONE}. `, at(dir, { ROLE: "it", PLACE: "here" }))).toBe(
    "You are it in here.",
  );
  expect(await render("!echo from $ROLE", at(dir, { ROLE: "the shell" }))).toBe("from the shell");
  expect(await render("prompt.md", at(dir))).toBe("from the file");
  mkdirSync(join(dir, "work"));
  symlinkSync("../prompt.md", join(dir, "work", "linked.md"));
  await expect(render("linked.md", at(join(dir, "work")))).rejects.toThrow("it leads out of the working directory");
  expect(await render("../prompt.md", at(join(dir, "work")))).toBe("from the file");
  expect(await render("!not\na command", at(dir))).toBe("!not\na command");
  expect(await render(dir, at(dir))).toBe(dir);
  expect(await render("x".repeat(10_000), at(dir))).toHaveLength(10_000);
  expect(await render(undefined, at(dir))).toBe("");
});

test("no secret reaches a prompt command", async () => {
  const dir = tempDir();
  vi.stubEnv("SOME_API_KEY", "hush");
  vi.stubEnv("OLLIE_COPILOT_TOKEN", "hush");
  expect(await render(["env", 'echo "<$SOME_API_KEY>"'], at(dir, { MY_SECRET: "hush" }))).not.toContain("hush");
  expect(await render("<$SOME_API_KEY>", at(dir))).toBe("<>");
});

test("a command that takes too long is ended with all that it started", async () => {
  const dir = tempDir();
  const env = { PATH: process.env.PATH ?? "" };
  const command = "sleep 1000 & echo $! > pid; sleep 1000";
  await expect(run(command, { cwd: dir, env, signal: new AbortController().signal, limit: 300 })).rejects.toThrow(
    "took longer than 0.3 s",
  );
  const pid = Number(readFileSync(join(dir, "pid"), "utf8"));
  await vi.waitFor(() => expect(alive(pid)).toBe(false));
});

test("a command that leaves something in the background does not wait for it, and it is ended", async () => {
  const dir = tempDir();
  expect(await render(["sleep 1000 & echo $! > pid; echo done"], at(dir))).toBe("done");
  await vi.waitFor(() => expect(alive(Number(readFileSync(join(dir, "pid"), "utf8")))).toBe(false));
});

test("an abort ends the command", async () => {
  const dir = tempDir();
  const stop = new AbortController();
  const rendering = render(["echo $$ > pid; sleep 1000"], at(dir, {}, stop.signal));
  await vi.waitFor(() => expect(readFileSync(join(dir, "pid"), "utf8")).toMatch(/\d+\n/));
  stop.abort(new Error("stopped"));
  await expect(rendering).rejects.toThrow("stopped");
  await vi.waitFor(() => expect(alive(Number(readFileSync(join(dir, "pid"), "utf8")))).toBe(false));
});

test("a command that prints without end is refused", async () => {
  await expect(render(["yes"], at(tempDir()))).rejects.toThrow("printed more than 1048576 bytes");
});

test("prime says whether a directory lies in a repository", () => {
  const dir = tempDir();
  mkdirSync(join(dir, "a", "b"), { recursive: true });
  expect(prime(join(dir, "a", "b")).PRIME_IS_GIT_REPO).toBe("false");
  mkdirSync(join(dir, "a", ".git"));
  expect(prime(join(dir, "a", "b"))).toMatchObject({
    PRIME_IS_GIT_REPO: "true",
    PRIME_CWD: join(dir, "a", "b"),
    PRIME_PLATFORM: process.platform,
  });
});
