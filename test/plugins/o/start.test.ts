/** `o start` as a program, against the built daemon: what stands on which stream, and the exit status. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { build } from "../../dist.ts";

const root = join(import.meta.dirname, "../../..");
const program = join(root, "dist/o.js");
const daemon = join(root, "dist/core/bin/olliesrv.js");
const client = join(root, "dist/bin/ollie-9p.cjs");

const scenario = `
replies:
  - when: { prompt: "^fail" }
    steps: [{ error: { kind: auth, message: "no such key" } }]
  - when: { prompt: "^hang" }
    steps: [{ text: "I begin" }, { hang: true }]
  - when: { prompt: "^tool" }
    steps: [{ text: "Looking." }, { call: { name: shell, args: { command: "echo from the tool" } } }]
  - when: { result: "" }
    repeat: always
    steps: [{ text: "It says: {{result}}" }]
  - repeat: always
    steps: [{ text: "You said: {{prompt}}" }]
`;

let dir: string;
let work: string;
let env: Record<string, string>;

beforeAll(build, 60_000);

beforeEach(() => {
  dir = mkdtempSync("/tmp/ollie-o-");
  work = join(dir, "a project");
  for (const path of [work, join(dir, "ns")]) mkdirSync(path, { mode: 0o700 });
  writeFileSync(join(dir, "replies.yaml"), scenario);
  env = {
    PATH: process.env.PATH ?? "",
    HOME: dir,
    TMPDIR: dir,
    NAMESPACE: join(dir, "ns"),
    OLLIE_BACKEND: "script",
    OLLIE_SCRIPT: join(dir, "replies.yaml"),
  };
});
afterEach(() => {
  const { status, stderr } = spawnSync(process.execPath, [daemon, "stop"], { env, encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  rmSync(dir, { recursive: true, force: true });
});

interface Ended {
  status: number | null;
  stdout: string;
  stderr: string;
}

function start(args: string[], input?: string): Promise<Ended> {
  return end(spawnStart(args, input === undefined ? "ignore" : "pipe"), input);
}

function spawnStart(args: string[], stdin: "ignore" | "pipe" = "ignore"): ChildProcess {
  return spawn(process.execPath, [program, "start", ...args], { cwd: work, env, stdio: [stdin, "pipe", "pipe"] });
}

function end(child: ChildProcess, input?: string): Promise<Ended> {
  let stdout = "";
  let stderr = "";
  child.stdout?.on("data", (bytes) => {
    stdout += bytes;
  });
  child.stderr?.on("data", (bytes) => {
    stderr += bytes;
  });
  child.stdin?.end(input);
  return new Promise((resolve) => child.on("close", (status) => resolve({ status, stdout, stderr })));
}

function sessions(): string {
  return spawnSync(process.execPath, [client, "read", "session/idx"], { env, encoding: "utf8" }).stdout;
}

describe("with a question", () => {
  it("starts the daemon and prints the answer alone", async () => {
    const { status, stdout, stderr } = await start(["hello", "there"]);
    expect(stdout).toBe("You said: hello there\n");
    expect(status).toBe(0);
    expect(stderr).toMatch(/backend script/);
    expect(stderr).toMatch(/tools run in a sandbox \(\w+, profile default\): they change this folder alone$/m);
    expect(sessions()).toBe("");
  });

  it("says in ollie's own folder that tools change nothing there", async () => {
    for (const cwd of [root, join(root, "docs"), dirname(root)]) {
      const { status, stderr } = spawnSync(process.execPath, [program, "start", "hello"], {
        cwd,
        env,
        encoding: "utf8",
        stdio: ["ignore", "pipe", "pipe"],
      });
      expect({ status, stderr }).toMatchObject({
        status: 0,
        stderr: expect.stringMatching(/: they change nothing here/),
      });
    }
  });

  it("takes it from a pipe, and adds a pipe to an argument", async () => {
    expect(await start([], "one\ntwo\n")).toMatchObject({ status: 0, stdout: "You said: one\ntwo\n" });
    const command = `printf 'one\\n' | ${process.execPath} ${program} start 'sum up:'`;
    const { status, stdout } = spawnSync("sh", ["-c", command], { cwd: work, env, encoding: "utf8" });
    expect({ status, stdout }).toEqual({ status: 0, stdout: "You said: sum up:\n\none\n" });
  });

  it("answers with what came after the last tool", async () => {
    const { status, stdout } = await start(["tool please"]);
    expect(stdout).toMatch(/^It says: from the tool\n/);
    expect(stdout).not.toMatch(/Looking/);
    expect(status).toBe(0);
  });

  it("ends with 1 and an empty output when the turn fails", async () => {
    const { status, stdout, stderr } = await start(["fail"]);
    expect(stdout).toBe("");
    expect(stderr).toMatch(/no such key/);
    expect(status).toBe(1);
    expect(sessions()).toBe("");
  });

  it("stops the turn at Ctrl-C and leaves no session", async () => {
    await start(["hello"]);
    const child = spawnStart(["hang"]);
    const ended = end(child);
    while (!/\tthinking\t/.test(sessions())) await new Promise((resolve) => setTimeout(resolve, 20));
    child.kill("SIGINT");
    expect(await ended).toMatchObject({ status: 130, stdout: "" });
    expect(sessions()).toBe("");
  });

  it("refuses a real model without a sandbox where nobody can be asked, and makes nothing", async () => {
    env.OLLIE_BACKEND = "openai";
    env.OLLIE_OPENAI_URL = "http://127.0.0.1:9/v1";
    env.OLLIE_MODEL = "none";
    env.OLLIE_ISOLATION = "none";
    const { status, stdout, stderr } = await start(["hello"]);
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toMatch(/--unsandboxed\n$/);
    expect(sessions()).toBe("");
  });
});

describe("bad input gets one sentence", () => {
  it.each([
    ["an unknown option", ["--modle", "m", "hi"], /--modle/],
    ["an unknown backend", ["--backend", "nope", "hi"], /nope/],
    ["an unknown agent", ["--agent", "nope", "hi"], /nope/],
    ["an unknown session", ["--session", "nope", "hi"], /nope/],
    ["nothing", [" "], /nothing was asked/],
  ])("%s", async (_what, args, text) => {
    const { status, stdout, stderr } = await start(args);
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toMatch(text);
    expect(stderr).not.toMatch(/^ +at /m);
  });

  it("a daemon that can not start says why", async () => {
    mkdirSync(join(dir, ".config/ollie"), { recursive: true });
    writeFileSync(join(dir, ".config/ollie/ollie.config.ts"), "export default { plugins: 3 };\n");
    const { status, stderr } = await start(["hi"]);
    expect(status).toBe(1);
    expect(stderr).toMatch(/ollie\.config\.ts: plugins is not a list/);
    expect(stderr).not.toMatch(/^ +at /m);
  });
});

it("helps without a daemon", async () => {
  const { status, stdout } = await start(["--help"]);
  expect(status).toBe(0);
  expect(stdout).toMatch(/^usage: npm start/);
});

it("is npm start, from any folder, without a banner", () => {
  const npm = spawnSync("npm", ["--prefix", root, "start", "--", "here?"], { cwd: work, env, encoding: "utf8" });
  expect({ status: npm.status, stdout: npm.stdout }).toEqual({ status: 0, stdout: "You said: here?\n" });
  expect(npm.stderr).toMatch(/^ollie: /);
});

describe("a conversation", () => {
  it("goes on in a session that exists", async () => {
    await start(["hello"]);
    spawnSync(process.execPath, [client, "rdwr", "session/new"], { env, input: `name=kept\ncwd=${work}\n` });
    expect(await start(["--session", "kept", "again"])).toMatchObject({ status: 0, stdout: "You said: again\n" });
    expect(sessions()).toMatch(/^kept\tidle\t/);
  });
});
