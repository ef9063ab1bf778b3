/** The judge in parts: lines of ancestors, processes that are gone or another's by now. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { openSync, readFileSync } from "node:fs";
import { duplexPair } from "node:stream";
import { clientOver } from "ollie/client";
import { afterEach, describe, expect, test } from "vitest";
import { leaf, Root } from "#core";
import { connect } from "#core/client";
import { lineOf, processOf } from "../../../plugins/identity/ancestry.ts";
import identity from "../../../plugins/identity/index.ts";
import { agentRule, type Caller, callerOf, commandRule, sandboxed, userRule } from "../../../plugins/identity/judge.ts";
import type { PeerCalls } from "../../../plugins/identity/native.ts";
import { plug, started } from "../../core/kit.ts";

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});
const child = (): ChildProcess => {
  const one = spawn("sleep", ["100"]);
  children.push(one);
  return one;
};
const uid = process.getuid?.() as number;
const calls = (pid: number, more: Partial<PeerCalls> = {}): PeerCalls => ({
  credentials: () => ({ pid, uid }),
  pidfd: () => undefined,
  ...more,
});

describe("a line of ancestors", () => {
  test("begins with the process and ends with one that has no parent", () => {
    const one = child();
    const line = lineOf(one.pid as number) ?? [];
    expect(line.slice(0, 3)).toEqual([one.pid, process.pid, process.ppid]);
    expect(processOf(line.at(-1) as number)?.parent).toBe(0);
  });

  test("is none where the process has ended", async () => {
    const one = child();
    one.kill("SIGKILL");
    await once(one, "exit");
    expect(lineOf(one.pid as number)).toBeUndefined();
  });
});

describe("who connected", () => {
  test("is the process, while it lives", () => {
    const { pid } = child();
    const caller = callerOf(0, calls(pid as number));
    expect(caller).toMatchObject({ noNewPrivs: false });
    expect((caller as Caller).line.slice(0, 3)).toEqual([pid, process.pid, process.ppid]);
  });

  test.each<[string, Partial<PeerCalls>, RegExp]>([
    ["nobody that can be told", { credentials: () => undefined }, /can not be told$/],
    ["another user's", { credentials: () => ({ pid: process.pid, uid: uid + 1 }) }, /another user's$/],
    ["outside of our pid namespace", { credentials: () => ({ pid: 0, uid }) }, /can not be seen from here$/],
    ["one that has ended", { credentials: () => ({ pid: 2 ** 22 + 1, uid }) }, /has ended$/],
    // The number lives, but what the kernel holds of the peer is no process any more.
    ["one whose number was given anew", { pidfd: () => openSync("/dev/null", "r") }, /has ended$/],
  ])("is refused: %s", (_who, more, why) => {
    expect(callerOf(0, calls(child().pid as number, more))).toMatch(why);
  });

  test("is refused: a zombie", async () => {
    // A child of sh that ends when sh has become another program, which does not take its status.
    const sh = spawn("sh", ["-c", "sleep 101 & echo $!; exec sleep 100"]);
    children.push(sh);
    const [text] = await once(sh.stdout, "data");
    const pid = Number(text);
    const until = async (test: () => boolean | undefined) => {
      while (!test()) await new Promise((resolve) => setTimeout(resolve, 10));
    };
    await until(() => readFileSync(`/proc/${sh.pid}/comm`, "utf8") === "sleep\n");
    process.kill(pid);
    await until(() => processOf(pid)?.zombie);
    expect(callerOf(0, calls(pid))).toMatch(/has ended$/);
  });
});

describe("rules", () => {
  const caller = (line: number[], noNewPrivs = false): Caller => ({ line, noNewPrivs });
  test("the main socket takes this process itself and strangers, not what descends from it", () => {
    const rule = userRule(false);
    expect(rule(caller([process.pid, 1]))).toBeUndefined();
    expect(rule(caller([900, 1]))).toBeUndefined();
    expect(rule(caller([900, process.pid, 1]))).toBe(sandboxed);
    expect(rule(caller([900, 1], true))).toBe(sandboxed);
    expect(userRule(true)(caller([900, 1], true))).toBeUndefined();
  });

  test("an agent's takes what is below a tool server, not the server", () => {
    const servers = new Set([40]);
    const rule = agentRule(() => servers);
    expect(rule(caller([50, 40, 1]))).toBeUndefined();
    expect(rule(caller([40, 1]))).toMatch(/^permission denied/);
    expect(rule(caller([50, 41, 1]))).toMatch(/^permission denied/);
    servers.delete(40);
    expect(rule(caller([50, 40, 1]))).toMatch(/^permission denied/);
  });

  test("a command's takes the command and what it started, unconfined", () => {
    const rule = commandRule(new Set([40]));
    expect(rule(caller([40, 1]))).toBeUndefined();
    expect(rule(caller([50, 40, 1]))).toBeUndefined();
    expect(rule(caller([50, 41, 1]))).toMatch(/^permission denied/);
    expect(rule(caller([50, 40, 1], true))).toBe(sandboxed);
  });
});

describe("a connection", () => {
  const who = plug("who", ({ mount }) => mount(Root, leaf("who", { doc: "Who.", read: (c) => c.principal.kind })));

  test("by tcp is refused: nobody can tell whose it is; the config may accept it", async () => {
    const strict = await started([who, identity()]);
    const { address } = await strict.listen({ tcp: { port: 0 } });
    await expect(connect(address)).rejects.toThrow("permission denied: who connects by tcp can not be told");
    const open = await started([who, identity({ acceptTcp: true })]);
    const client = await connect((await open.listen({ tcp: { port: 0 } })).address);
    expect((await client.read("who")).toString()).toBe("user");
    await client.close();
  });

  test("inside of one process is the user's", async () => {
    const kernel = await started([who, identity()]);
    const [near, far] = duplexPair();
    kernel.serve(far);
    const client = await clientOver(near);
    expect((await client.read("who")).toString()).toBe("user");
    await client.close();
  });
});
