import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { members } from "#plugins/toolsrv";
import { bundle, toolsrvEntry } from "./bundle.ts";
import { alive, stubborn, until } from "./processes.ts";

let entry: string;
let program: string;
let base: string;

beforeAll(async () => {
  base = mkdtempSync(join(tmpdir(), "ollie-killed-"));
  entry = await toolsrvEntry();
  program = await bundle("test/plugins/toolsrv/daemon.ts");
});
afterAll(() => {
  for (const path of [entry, program, base]) rmSync(path, { recursive: true, force: true });
});

/** A daemon whose only call is in the middle: its pid, its toolsrv's, and those of the tool's processes. */
async function running(): Promise<{ daemon: ChildProcess; toolsrv: number; tools: number[]; watchdog: number[] }> {
  const command = `${stubborn} echo server $PPID; exec sleep 905`;
  const daemon = spawn(process.execPath, [program, entry, base, command], { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  daemon.stdout.on("data", (chunk) => {
    text += chunk;
  });
  await until(() => /server \d+\n/.test(text));
  const toolsrv = Number(/server (\d+)/.exec(text)?.[1]);
  const tools = (text.match(/^\d+$/gm) ?? []).map(Number);
  expect(tools).toHaveLength(4);
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
});
