import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { toolDirs } from "#plugins/tools";
import { isZombie, type Libc, loadLibc, members, reapOrphans } from "#plugins/toolsrv";
import { startChild } from "../../../plugins/toolsrv/child.ts";
import { childrenOf, cookieOf, sweepDead } from "../../../plugins/toolsrv/sweep.ts";
import { built } from "../../dist.ts";
import { here } from "../sandbox/gate.ts";
import { bundle } from "./bundle.ts";
import { alive, escaped, stubborn, until } from "./processes.ts";

const entry = built("toolsrv.js");
let program: string;
let base: string;

beforeAll(async () => {
  base = mkdtempSync(join(tmpdir(), "ollie-killed-"));
  program = await bundle("test/plugins/toolsrv/daemon.ts");
});
afterAll(() => {
  for (const path of [program, base]) rmSync(path, { recursive: true, force: true });
});

/** A daemon whose only call is in the middle: its pid, its toolsrv's, and those of the tool's processes. */
async function running(
  { start, env }: { start: string; env?: Record<string, string> } = { start: stubborn },
): Promise<{ daemon: ChildProcess; toolsrv: number; tools: number[]; watchdog: number[] }> {
  const command = `${start} echo server $PPID; exec sleep 905`;
  const daemon = spawn(process.execPath, [program, entry, base, command], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, ...env },
  });
  onTestFinished(() => void daemon.kill("SIGKILL"));
  let text = "";
  daemon.stdout.on("data", (chunk) => {
    text += chunk;
  });
  await until(() => /server \d+\n/.test(text));
  const toolsrv = Number(/server (\d+)/.exec(text)?.[1]);
  const tools = (text.match(/^\d+$/gm) ?? []).map(Number);
  expect(tools.length).toBeGreaterThan(3);
  const watchdog = members({ root: daemon.pid as number }).filter((pid) =>
    readFileSync(`/proc/${pid}/cmdline`, "latin1").includes("ollie-watchdog"),
  );
  expect(watchdog).toHaveLength(1);
  return { daemon, toolsrv, tools, watchdog };
}

describe("nothing outlives the daemon", () => {
  test("the daemon is killed with -9", async () => {
    const { daemon, toolsrv, tools, watchdog } = await running();
    daemon.kill("SIGKILL");
    await until(() => ![toolsrv, ...tools, ...watchdog].some(alive));
  });

  test("daemon and toolsrv are both killed with -9", async () => {
    const { daemon, toolsrv, tools, watchdog } = await running();
    process.kill(toolsrv, "SIGSTOP");
    daemon.kill("SIGKILL");
    process.kill(toolsrv, "SIGKILL");
    await until(() => ![toolsrv, ...tools, ...watchdog].some(alive));
  });

  test("toolsrv hangs when the daemon is killed", async () => {
    const { daemon, toolsrv, tools, watchdog } = await running();
    process.kill(toolsrv, "SIGSTOP");
    daemon.kill("SIGKILL");
    await until(() => ![toolsrv, ...tools, ...watchdog].some(alive));
  });

  test("toolsrv is ended with TERM", async () => {
    const { daemon, toolsrv, tools, watchdog } = await running();
    process.kill(toolsrv, "SIGTERM");
    await until(() => ![toolsrv, ...tools, ...watchdog].some(alive));
    daemon.kill("SIGKILL");
  });

  test("what emptied its environment and detached itself is found when toolsrv is killed with -9", async () => {
    const { daemon, toolsrv, tools, watchdog } = await running({ start: escaped });
    process.kill(toolsrv, "SIGKILL");
    await until(() => ![toolsrv, ...tools].some(alive));
    daemon.kill("SIGKILL");
    await until(() => !watchdog.some(alive));
  });

  test("and when the daemon is", async () => {
    const { daemon, toolsrv, tools, watchdog } = await running({ start: escaped });
    daemon.kill("SIGKILL");
    await until(() => ![toolsrv, ...tools, ...watchdog].some(alive));
  });

  test("without koffi all that kept its environment is found", async () => {
    for (const victim of ["daemon", "toolsrv"] as const) {
      const { daemon, toolsrv, tools, watchdog } = await running({ start: stubborn, env: { OLLIE_KOFFI: "off" } });
      process.kill(victim === "daemon" ? (daemon.pid as number) : toolsrv, "SIGKILL");
      await until(() => ![toolsrv, ...tools].some(alive));
      daemon.kill("SIGKILL");
      await until(() => !watchdog.some(alive));
    }
  });

  test("a daemon that starts ends what a dead one has left", async () => {
    const dead = spawn("/bin/sh", ["-c", "exec sleep 0"]);
    const cookie = cookieOf(dead.pid as number);
    await once(dead, "exit");
    const mine = cookieOf(process.pid);
    const [theirs, ours] = [cookie, mine].map((value) =>
      spawn("/bin/sleep", ["907"], { env: { OLLIE_PROC: `${value}.a.1.` }, detached: true, stdio: "ignore" }),
    );
    await until(() => members({ cookie }).length === 1);
    await sweepDead();
    await until(() => !alive(theirs?.pid as number));
    expect(alive(ours?.pid as number)).toBe(true);
    ours?.kill("SIGKILL");
  });
});

describe("what a dead daemon has left in another pid namespace", () => {
  const left = async (cookie: string, words: string[]) => {
    const [program = "", ...args] = words;
    spawn(program, args, { env: { OLLIE_PROC: `${cookie}.a.1.` }, detached: true, stdio: "ignore" });
    await until(() => members({ cookie }).length >= (program === "bwrap" ? 2 : 1));
    return members({ cookie });
  };
  const deadCookie = async () => {
    const dead = spawn("/bin/sh", ["-c", "exec sleep 0"]);
    const cookie = cookieOf(dead.pid as number);
    await once(dead, "exit");
    return cookie;
  };

  test.skipIf(!here.bwrap)("is ended where the daemon was in ours", async () => {
    const sleeping = ["--ro-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "sleep", "908"];
    const pids = await left(await deadCookie(), ["bwrap", ...sleeping]);
    await sweepDead();
    await until(() => !pids.some(alive));
  });

  test("is left alone where the daemon was in another: its number means somebody else here", async () => {
    const elsewhere = (await deadCookie()).replace(/^(\d+-\d+)-\d+/, "$1-1");
    const [pid = 0] = await left(elsewhere, ["/bin/sleep", "909"]);
    await sweepDead();
    expect(alive(pid)).toBe(true);
    process.kill(pid, "SIGKILL");
  });
});

describe("orphans", () => {
  test("1,000 double forks leave no zombie, and no status of a call is lost", async () => {
    const child = await startChild({ entry, toolDirs: toolDirs({}), startLimit: 20_000 });
    try {
      const call = (id: string, command: string) => {
        const names = { session: "s", agent: "a", sessionName: "s", agentName: "a", callId: "c", tool: "shell" };
        const places = { cwd: base, env: {}, timeout: 0, sessionTmp: base, agentTmp: base };
        return child.client.rdwr("call", JSON.stringify({ id, ...names, ...places, args: { command } }));
      };
      const forks = "for i in $(seq 250); do (/bin/true &) ; done";
      const replies = await Promise.all([1, 2, 3, 4].map((i) => call(`f${i}`, `${forks}; exit ${i}`)));
      for (const [i, reply] of replies.entries()) expect(reply.toString()).toContain(`"exitCode":${i + 1}`);
      await until(() => childrenOf(child.pid).every((pid) => !isZombie(pid)));
    } finally {
      await child.close();
    }
  });

  test("the daemon reaps its own, and leaves Node the statuses of its children", async () => {
    const { libc } = await loadLibc();
    libc?.adoptOrphans();
    const stop = reapOrphans(libc as Libc);
    const codes = await Promise.all(
      Array.from({ length: 40 }, async (_, i) => {
        const child = spawn("/bin/sh", ["-c", `(/bin/true &) ; exit ${i}`], { stdio: "ignore" });
        return (await once(child, "exit"))[0];
      }),
    );
    expect(codes).toEqual(Array.from({ length: 40 }, (_, i) => i));
    await until(() => childrenOf(process.pid).every((pid) => !isZombie(pid)));
    stop();
  });
});
