import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { createKernel, definePlugin } from "#core";
import { createLogger, type LogOptions } from "#plugins/log-pino";
import logPino from "../../../plugins/log-pino/index.ts";

afterEach(() => vi.unstubAllEnvs());

async function captured(options: LogOptions = {}) {
  const out: string[] = [];
  const err: string[] = [];
  const writer = (into: string[]) => ({ isTTY: true, write: (text: string) => into.push(text) });
  const log = await createLogger({ out: writer(out), err: writer(err), ...options });
  return { log, out, err };
}

function tempFile(): string {
  const dir = mkdtempSync(join(tmpdir(), "ollie-test-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return join(dir, "log");
}

test("debug and info go to stdout, warn and error to stderr, as tag: message", async () => {
  vi.stubEnv("OLLIE_LOG", "debug");
  const { log, out, err } = await captured();
  log.debug("one");
  log.child({ plugin: "sessions" }).info("two", { n: 1, what: "x" });
  log.warn("three\nlines");
  log.child({ tag: "9p" }).error("four");
  expect(out).toEqual(["core: one\n", "sessions: two n=1 what=x\n"]);
  expect(err).toEqual(["core: three lines\n", "9p: four\n"]);
});

test("the level is warn, or that of OLLIE_LOG, or of the tag's own variable", async () => {
  const first = await captured();
  first.log.info("hidden");
  first.log.warn("shown");
  expect([first.out, first.err]).toEqual([[], ["core: shown\n"]]);

  vi.stubEnv("OLLIE_LOG", "error");
  vi.stubEnv("OLLIE_BACKEND_OPENAI_LOG", "debug");
  const { log, out, err } = await captured();
  log.warn("hidden");
  log.child({ plugin: "events" }).warn("hidden");
  const tagged = log.child({ plugin: "backend-openai" });
  tagged.debug("shown");
  tagged.child({ agent: "a" }).debug("too");
  expect(out).toEqual(["backend-openai: shown\n", "backend-openai: too agent=a\n"]);
  expect(err).toEqual([]);
});

test("a level that is none is told, and warn holds", async () => {
  vi.stubEnv("OLLIE_LOG", "loud");
  const { log, out, err } = await captured();
  log.info("hidden");
  expect(out).toEqual([]);
  expect(err).toEqual(['core: OLLIE_LOG: unknown level "loud" (levels: debug info warn error silent)\n']);
});

test("keys and tokens are in no line, whichever way they came", async () => {
  vi.stubEnv("SOME_API_KEY", "sk-value-of-the-environment");
  const { log, err } = await captured();
  const child = log.child({ plugin: "p", authToken: "abc-secret" });
  child.warn("asked with sk-value-of-the-environment and Bearer abcdefghijkl", {
    apiKey: "abc-secret",
    headers: { Authorization: "abc-secret", accept: "text" },
    list: [{ password: "abc-secret" }],
    cause: new Error("for sk-value-of-the-environment"),
    tokens: 12,
  });
  const text = err.join("");
  expect(text).not.toMatch(/abc-secret|sk-value|abcdefghijkl/);
  expect(text).toContain("tokens=12");
  expect(text).toContain('"accept":"text"');
});

test("a stack is shown at debug alone, and never without", async () => {
  const quiet = await captured();
  quiet.log.error("failed", { stack: "Error: failed\n    at somewhere" });
  expect(quiet.err).toEqual(["core: failed\n"]);
  vi.stubEnv("OLLIE_LOG", "debug");
  const loud = await captured();
  loud.log.error("failed", { stack: "Error: failed\n    at somewhere" });
  expect(loud.err[0]).toContain("\n    at somewhere\n");
});

test("H-095: a log file holds JSON lines and is 0600, whatever it was and whatever the umask", async () => {
  const mask = process.umask(0);
  onTestFinished(() => void process.umask(mask));
  const file = tempFile();
  writeFileSync(file, "", { mode: 0o644 });
  const log = await createLogger({ file });
  log.child({ plugin: "p" }).error("text", { secret: "hush" });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({
    level: "error",
    plugin: "p",
    msg: "text",
    secret: "[hidden]",
  });
  const fresh = tempFile();
  (await createLogger({ file: fresh })).error("x");
  expect(statSync(fresh).mode & 0o777).toBe(0o600);
});

test("the kernel's lines go there, those of the start too", async () => {
  const file = tempFile();
  const early = definePlugin({
    name: "early",
    doc: "Logs before the logger is there.",
    setup: (api) => api.log.warn("early bird"),
  });
  const kernel = createKernel({ plugins: [early(), logPino({ file })] });
  onTestFinished(() => kernel.close());
  await kernel.start();
  expect(readFileSync(file, "utf8")).toMatch(/"plugin":"early".*"msg":"early bird"/);
});
