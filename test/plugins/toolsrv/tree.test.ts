import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Client, ORDWR } from "#core/client";
import { toolDirs } from "#plugins/tools";
import { commandOf, members } from "#plugins/toolsrv";
import { type Child, startChild } from "../../../plugins/toolsrv/child.ts";
import { built } from "../../dist.ts";
import { until } from "./processes.ts";

const entry = built("toolsrv.js");
let dir: string;
let child: Child;
let client: Client;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "ollie-tree-"));
  child = await startChild({ entry, toolDirs: toolDirs({}), startLimit: 20_000 });
  client = child.client;
});
afterAll(async () => {
  await child.close();
  rmSync(dir, { recursive: true, force: true });
});

const text = async (path: string) => (await client.read(path)).toString("utf8");
const body = (id: string, command: string) =>
  JSON.stringify({
    id,
    session: randomUUID(),
    agent: "a1",
    sessionName: "s",
    agentName: "a",
    callId: "c",
    tool: "shell",
    args: { command },
    cwd: dir,
    env: {},
    timeout: 0,
    sessionTmp: dir,
    agentTmp: dir,
  });
const sleepers = () => members({ root: child.pid }).filter((pid) => commandOf(pid) === "sleep").length;

describe("toolsrv's tree", () => {
  test("names its files", async () => {
    expect((await client.ls("/")).map(({ name }) => name).sort()).toEqual(["call", "ctl", "host", "proc", "tools"]);
    expect((await client.ls("tools")).map(({ name }) => name)).toContain("shell");
    expect(JSON.parse(await text("tools/shell/meta"))).toMatchObject({ name: "shell", scope: "global" });
  });

  test("host tells about this side", async () => {
    const host = await text("host");
    expect(host).toContain(`platform=${process.platform}\narch=${process.arch}\n`);
    expect(host).toContain("sandbox=off\ncalls=0\nprocesses=0\nleft=0\nnative=koffi\n");
  });

  test("without koffi it says so, and what is lost, and works", async () => {
    process.env.OLLIE_KOFFI = "off";
    const lesser = await startChild({ entry, toolDirs: toolDirs({}), startLimit: 20_000 });
    delete process.env.OLLIE_KOFFI;
    try {
      const host = (await lesser.client.read("host")).toString("utf8");
      expect(host).toContain(
        "native=off (OLLIE_KOFFI=off): pipes are socket pairs, each start is a fork of the tool server",
      );
      const reply = (await lesser.client.rdwr("call", body("1", "echo a; echo b >&2; exit 3"))).toString("utf8");
      expect(reply).toContain('"content":"exit status 3\\na\\nb"');
      expect(members({ root: lesser.pid })).toEqual([]);
    } finally {
      await lesser.close();
    }
  });

  test("a command of the host is a tool: words, an empty stdin, and what is too long goes to the file beside", async () => {
    const run = async (id: string, command: string) => {
      const [end] = (await client.rdwr("call", body(id, command))).toString("utf8").trim().split("\n").slice(-1);
      return JSON.parse(end as string).end;
    };
    const plain = await run("c1", 'readlink /proc/self/fd/0; tr "\\0" "|" </proc/$$/cmdline; nosuch');
    expect(plain.content).toMatch(/^exit status 127\n\/dev\/null\nbash\|-c\|--\|readlink .*\|bash: line 1: nosuch/);
    expect((await run("c2", "-x; echo no option")).content).toContain("no option");
    const long = await run("c3", `: ${"x".repeat(120_000)}\necho all of it`);
    expect(long).toEqual({ status: "ok", content: "all of it", exitCode: 0 });
  });

  test("one watchdog watches over all tool servers, as long as there is one", async () => {
    const watchdogs = () =>
      members({ root: process.pid }).filter((pid) =>
        readFileSync(`/proc/${pid}/cmdline`, "latin1").includes("ollie-watchdog"),
      );
    const [only] = watchdogs();
    const others = await Promise.all([1, 2].map(() => startChild({ entry, toolDirs: [], startLimit: 20_000 })));
    expect(watchdogs()).toEqual([only]);
    // The next one has another where it was ended.
    process.kill(only as number, "SIGKILL");
    await until(() => watchdogs().length === 0);
    await sleep(50); // Node takes its status a moment later
    const last = await startChild({ entry, toolDirs: [], startLimit: 20_000 });
    expect(watchdogs()).toHaveLength(1);
    for (const one of [...others, last]) await one.close();
    expect(watchdogs()).toHaveLength(1);
  });

  test("programs may open as many files as is usual, not as many as Node may", async () => {
    const reply = (await client.rdwr("call", body("u", "ulimit -Sn; ulimit -Hn"))).toString("utf8");
    const [soft, hard] = JSON.parse(reply.trim().split("\n").at(-1) ?? "")
      .end.content.split("\n")
      .map(Number);
    expect(soft).toBe(Math.min(1024, hard));
  });

  test("call answers in lines, output first and one end", async () => {
    const reply = (await client.rdwr("call", body("1", "echo a; exit 2"))).toString("utf8");
    const records = reply
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(
      records
        .slice(0, -1)
        .map(({ out }) => out)
        .join(""),
    ).toBe("a\n");
    expect(records.at(-1)).toEqual({ end: { status: "failed", content: "exit status 2\na", exitCode: 2 } });
  });

  test("closing the file ends the call", async () => {
    const file = await client.open("call", ORDWR);
    await file.write(body("2", "echo up; sleep 911"));
    expect((await file.read()).toString("utf8")).toContain("up");
    await until(() => sleepers() > 0);
    await file.close();
    await until(() => sleepers() === 0);
  });

  test("flushing the read ends the call", async () => {
    const file = await client.open("call", ORDWR);
    await file.write(body("3", "sleep 912"));
    const stop = new AbortController();
    const read = file.read(undefined, undefined, { signal: stop.signal });
    await until(() => sleepers() > 0);
    stop.abort();
    await expect(read).rejects.toThrow();
    await until(() => sleepers() === 0);
    await file.close();
  });

  test("ctl cancels a call, whose result still comes", async () => {
    const running = client.rdwr("call", body("4", "echo up; sleep 913"));
    await until(() => sleepers() > 0);
    for (let i = 0; i < 100 && !(await text("host")).includes("calls=1"); i++) await sleep(20);
    await sleep(100);
    expect((await client.rdwr("ctl", "cancel 4")).toString("utf8")).toBe("ok\n");
    expect((await running).toString("utf8")).toContain('"status":"cancelled","content":"cancelled and ended');
  });

  test("a background process is a folder: output as it comes, status, ctl", async () => {
    const reply = (await client.rdwr("proc/new.bg", body("7", "echo one; read x; sleep 914; echo never"))).toString();
    expect(reply).toMatch(/^id=7\npid=\d+\ntool=shell\nstate=running\n$/);
    expect((await client.ls("proc")).map(({ name }) => name).sort()).toEqual(["7", "new", "new.bg"]);
    const out = client.stream("proc/7/out");
    expect((await out.next()).value?.toString()).toBe("one\n");
    await expect(client.write("proc/7/ctl", "dismiss")).rejects.toThrow("proc/7/ctl: it runs (term or kill it first)");
    await client.write("proc/7/ctl", "term");
    expect((await out.next()).done).toBe(true);
    expect(await text("proc/7/status")).toContain("state=ended\nsignal=SIGTERM\n");
    expect(await text("proc/7/out")).toBe("one\n");
    await client.write("proc/7/ctl", "dismiss");
    await expect(text("proc/7/status")).rejects.toThrow("file not found");
  });

  test("kill ends all that belongs to a process; new keeps the time limit", async () => {
    await client.rdwr("proc/new.bg", body("8", 'trap "" TERM; setsid sleep 915 & sleep 916'));
    await until(() => sleepers() === 2);
    await client.write("proc/8/ctl", "kill");
    await until(() => sleepers() === 0);
    const limited = JSON.stringify({ ...JSON.parse(body("9", "sleep 917")), timeout: 50 });
    await client.rdwr("proc/new", limited);
    for await (const _ of client.stream("proc/9/out"));
    expect(await text("proc/9/status")).toContain("cause=timeout");
  });

  test("wrong requests are refused with one sentence", async () => {
    await expect(client.rdwr("call", "{")).rejects.toThrow(
      "call: the body must be a JSON object with id, tool, args and cwd",
    );
    await expect(client.rdwr("call", "null")).rejects.toThrow("call: the body must be");
    await expect(client.rdwr("proc/new.bg", body("a/b", "true"))).rejects.toThrow("proc/new: id must be");
    await expect(client.rdwr("proc/new.bg", body("10", "true").replace('"shell"', '"nosuch"'))).rejects.toThrow(
      'there is no tool "nosuch"',
    );
    await expect(client.rdwr("ctl", "cancel nobody")).rejects.toThrow("ctl: there is no call nobody");
    await expect(client.rdwr("ctl", "dance now")).rejects.toThrow('ctl: unknown verb "dance" (verbs: cancel end warm)');
    await expect(client.rdwr("ctl", "cancel")).rejects.toThrow("ctl: usage: cancel ID | end AGENT | warm RULES");
    expect((await client.rdwr("call")).toString("utf8")).toContain("usage:");
  });
});
