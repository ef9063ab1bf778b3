import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { packageRoot } from "#core";
import { members, sweep, toolEnv, unattended } from "#plugins/toolsrv";
import { toResult } from "../../../plugins/toolsrv/server/result.ts";
import { type Job, liveLimit, run as runWith, waits } from "../../../plugins/toolsrv/server/run.ts";
import { createSpawner, type Spawner } from "../../../plugins/toolsrv/server/spawn.ts";
import { means } from "./means.ts";

const shellTool = join(packageRoot(), "data/tools/shell");
let dir: string;
const cookies: string[] = [];

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "ollie-run-"));
});
afterEach(async () => {
  for (const cookie of cookies.splice(0)) await sweep({ cookie });
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** Set by each of the ways below. */
let spawner: Spawner;

const run = (job: Job, options: Parameters<typeof runWith>[2]) => runWith(job, spawner, options);

/** Runs a command line with the stock shell tool. */
async function shell(
  command: string,
  { timeout = 0, signal = new AbortController().signal, onOutput = (_text: string) => {}, cwd = dir } = {},
) {
  const cookie = `${randomUUID()}.1.`;
  cookies.push(cookie);
  const env = { ...toolEnv(process.env), ...unattended, OLLIE_PROC: cookie };
  const job = { exec: shellTool, argv: [command], stdin: JSON.stringify({ command }), env, cwd, timeout, cookie };
  const ended = await run(job, { signal, onOutput });
  return { ...toResult(ended, { timeout, exact: false }), ended, cookie };
}

const ways = [
  { way: "posix_spawn, through pipes", pipes: true },
  { way: "Node's own spawn, through socket pairs", pipes: false },
];

describe.each(ways)("run by $way", ({ pipes }) => {
  beforeAll(async () => {
    const native = await means();
    expect(native).toBeDefined();
    spawner = createSpawner(pipes ? native : undefined);
  });

  test.runIf(pipes)("outputs can be opened by name", async () => {
    const command = "echo a | tee /dev/stderr >/dev/null; echo b >/dev/stdout; echo c >/proc/self/fd/2; cat /dev/stdin";
    expect(await shell(command)).toMatchObject({ status: "ok", content: "a\nb\nc" });
  });

  test("stdout and stderr come in order, with the exit status", async () => {
    const result = await shell("echo a; echo b >&2; echo c; exit 7");
    expect(result).toMatchObject({ status: "failed", exitCode: 7, content: "exit status 7\na\nb\nc" });
  });

  test("H-023: a tool that prints nothing has a result that is not blank", async () => {
    expect(await shell("mkdir -p x")).toMatchObject({ status: "ok", content: "(no output, exit 0)", exitCode: 0 });
    expect((await shell("echo; echo")).content).toBe("(no output, exit 0)");
    expect((await shell("exit 4")).content).toBe("exit status 4 (no output)");
  });

  test("H-056: a child in the background does not hold the call, and is told", async () => {
    const result = await shell("sleep 60 & echo done");
    expect(result).toMatchObject({ status: "ok", exitCode: 0 });
    expect(result.content).toMatch(/^done\n\[left running in the background: sleep \(pid \d+\);/);
    expect(members({ cookie: result.cookie })).toHaveLength(1);
  });

  test("H-056: a child that detached from the output is told too", async () => {
    const result = await shell("sleep 60 >/dev/null 2>&1 & echo done");
    // It may be looked at before it has become what it is to be.
    expect(result.content).toMatch(/^done\n\[left running in the background: (sleep|bash|sh) /);
  });

  test("a child that ends soon is not told", async () => {
    // However slow the machine is: the end of the output is what ends the wait.
    const { drain } = waits;
    waits.drain = 15_000;
    onTestFinished(() => {
      waits.drain = drain;
    });
    expect((await shell("sleep 0.05 & echo done")).content).toBe("done");
  });

  test("a program that is left can go on writing", async () => {
    const result = await shell("(sleep 0.6; for i in 1 2 3; do echo $i || exit 9; done; echo ok >late) & echo done");
    expect(result.content).toMatch(/^done\n/);
    for (let i = 0; i < 100 && members({ cookie: result.cookie }).length > 0; i++) await sleep(50);
    expect(execFileSync("cat", [join(dir, "late")], { encoding: "utf8" })).toBe("ok\n");
  });

  test("H-057: a timeout ends the whole tree and keeps the output so far", async () => {
    const result = await shell('trap "" TERM; echo before; sleep 301 & sleep 302', { timeout: 300 });
    expect(result.status).toBe("timeout");
    expect(result.content).toBe("timed out after 0.3 s and was ended, its output until then:\nbefore");
    expect(members({ cookie: result.cookie })).toEqual([]);
  });

  test("H-057: a child in a session of its own is ended too", async () => {
    const result = await shell("setsid sleep 303 & (setsid sleep 304 &) ; sleep 305", { timeout: 300 });
    expect(result.status).toBe("timeout");
    expect(members({ cookie: result.cookie })).toEqual([]);
  });

  test("H-057: cancelling does the same", async () => {
    const stop = new AbortController();
    const running = shell('trap "" TERM; echo before; sleep 301 & sleep 302', {
      signal: stop.signal,
      onOutput: () => stop.abort(),
    });
    const result = await running;
    expect(result).toMatchObject({
      status: "cancelled",
      content: "cancelled and ended, its output until then:\nbefore",
    });
    expect(members({ cookie: result.cookie })).toEqual([]);
  });

  test("a program may end itself cleanly on TERM", async () => {
    const result = await shell('trap "echo cleaned; exit 0" TERM; sleep 300 & wait', { timeout: 200 });
    expect(result.content).toContain("cleaned");
  });

  test("H-058: whoever asks gets end of file or an error", async () => {
    expect((await shell('read x; echo "[$x]"')).content).toBe("[]");
    expect((await shell("cat")).content).toBe("(no output, exit 0)");
    expect((await shell("head -c1 </dev/tty")).status).toBe("failed");
    expect((await shell("test -t 0 || test -t 1 || test -t 2 || echo none")).content).toBe("none");
    const git = await shell(
      "git init -q g && cd g && echo 1 >f && git add f && git -c user.name=n -c user.email=e commit",
    );
    expect(git.status).toBe("failed");
  });

  test("H-059: endless output stays in bounded memory, with the exact number left out", async () => {
    const before = process.memoryUsage().rss;
    const total = 200_000_000;
    let live = 0;
    const result = await shell(`yes | head -c ${total}`, {
      onOutput(text) {
        live += text.length;
      },
    });
    expect(result.status).toBe("ok");
    expect(result.ended.head.length + result.ended.tail.length + result.ended.omitted).toBe(total);
    expect(result.content).toContain(`[... ${result.ended.omitted} bytes left out ...]`);
    // The agent cuts what is longer than this: the tail would be lost.
    expect(result.content.length).toBeLessThan(65_536);
    expect(result.content).toMatch(/bytes left out \.\.\.\]\n(?:y\n)+y$/);
    expect(live).toBeLessThan(liveLimit + 200);
    expect(process.memoryUsage().rss - before).toBeLessThan(150 << 20);
  });

  test("H-059: a flood of NULs ends with its timeout", async () => {
    const result = await shell("cat /dev/zero", { timeout: 300 });
    expect(result.status).toBe("timeout");
    expect(result.content.length).toBeLessThan(1000);
  });

  test("H-060: progress lines and colours", async () => {
    const result = await shell(
      'for i in $(seq 1 2000); do printf "\\r%d%%" $i; done; printf "\\n\\033[31mred\\033[0m\\n"',
    );
    expect(result.content).toBe("2000%\nred");
  });

  test("H-061: keys stay out, the rest of the whitelist is there", async () => {
    const before = { ...process.env };
    Object.assign(process.env, {
      ANTHROPIC_API_KEY: "sk-test-1",
      OPENAI_API_KEY: "sk-test-2",
      OLLIE_OPENAI_KEY: "sk-test-3",
      OLLIE_SOMETHING: "yes",
      SSH_AUTH_SOCK: "/tmp/agent",
    });
    const { content } = await shell("env");
    process.env = before;
    expect(content).not.toContain("sk-test");
    expect(content).not.toContain("SSH_AUTH_SOCK");
    expect(content).toContain("OLLIE_SOMETHING=yes");
    expect(content).toContain("PATH=");
  });

  test("H-063: exit status, signals and odd bytes", async () => {
    expect(await shell('printf "\\377\\376x"; exit 3')).toMatchObject({
      content: "exit status 3\n\ufffd\ufffdx",
      exitCode: 3,
    });
    expect(await shell("kill -9 $$")).toMatchObject({
      status: "failed",
      signal: "SIGKILL",
      content: "killed by signal 9 (SIGKILL) (no output)",
    });
    // Node has no name for it, and knows no such end where it waits itself.
    if (pipes) expect((await shell("kill -40 $$")).content).toBe("killed by signal 40 (SIG40) (no output)");
    expect((await shell("false | true")).status).toBe("ok");
    expect(await shell("echo oops >&2; exit 0")).toMatchObject({ status: "ok", content: "oops" });
  });

  test("characters are never split, neither live nor at the cut", async () => {
    const pieces: string[] = [];
    const result = await shell("yes € | head -c 400001", { onOutput: (text) => void pieces.push(text) });
    expect(pieces.slice(0, -1).join("")).not.toContain("\ufffd");
    expect(result.ended.head + result.ended.tail.slice(0, -1)).not.toContain("\ufffd");
  });

  test("arguments are not interpreted on their way", async () => {
    const hostile = "$(touch owned) `touch owned` ' \" \\ * \n -x";
    const job = {
      exec: "/usr/bin/printf",
      argv: ["%s|", hostile, ""],
      stdin: "",
      env: {},
      cwd: dir,
      timeout: 0,
      cookie: `${randomUUID()}.1.`,
    };
    expect((await run(job, { signal: new AbortController().signal })).head).toBe(`${hostile}||`);
    expect((await shell("ls")).content).not.toContain("owned");
  });

  test("a program that never reads its input does no harm", async () => {
    const cookie = `${randomUUID()}.1.`;
    const job = {
      exec: "/bin/true",
      argv: [],
      stdin: "x".repeat(5_000_000),
      env: { PATH: process.env.PATH ?? "" },
      cwd: dir,
      timeout: 0,
      cookie,
    };
    expect(await run(job, { signal: new AbortController().signal })).toMatchObject({ code: 0, cause: undefined });
  });

  test("a file without an interpreter line runs in sh, one that is missing fails with a reason", async () => {
    writeFileSync(join(dir, "plain"), "echo plain $1\n", { mode: 0o755 });
    const job = { argv: ["a b"], stdin: "", env: {}, cwd: dir, timeout: 0, cookie: `${randomUUID()}.1.` };
    const options = { signal: new AbortController().signal };
    expect((await run({ ...job, exec: join(dir, "plain") }, options)).head).toBe("plain a b\n");
    expect(await run({ ...job, exec: join(dir, "absent") }, options)).toMatchObject(
      !pipes ? { code: 127 } : { error: expect.stringContaining("ENOENT") },
    );
    expect((await run({ ...job, exec: "/bin/true", argv: ["a\0b"] }, options)).error).toContain("null bytes");
  });

  test("a command that is too long for argv comes on stdin", async () => {
    const command = `x='${"y".repeat(200_000)}'; echo \${#x}; exit 3`;
    const job = {
      exec: shellTool,
      argv: [],
      stdin: JSON.stringify({ command }),
      env: { ...toolEnv(process.env), TMPDIR: dir },
      cwd: dir,
      timeout: 0,
      cookie: `${randomUUID()}.1.`,
    };
    expect(await run(job, { signal: new AbortController().signal })).toMatchObject({ code: 3, head: "200000\n" });
  });

  test("a working directory that is gone is an error, not a crash", async () => {
    const gone = join(dir, "gone");
    mkdirSync(gone);
    rmSync(gone, { recursive: true });
    expect((await shell("echo hi", { cwd: gone })).status).toMatch(/^(refused|failed)$/);
  });
});
