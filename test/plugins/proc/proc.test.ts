import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import agent from "ollie/plugins/agent";
import agentConfig from "ollie/plugins/agent-config";
import backendScript from "ollie/plugins/backend-script";
import backends from "ollie/plugins/backends";
import events from "ollie/plugins/events";
import proc from "ollie/plugins/proc";
import prompts from "ollie/plugins/prompts";
import scheduler from "ollie/plugins/scheduler";
import sessions from "ollie/plugins/sessions";
import tools from "ollie/plugins/tools";
import toolsrv from "ollie/plugins/toolsrv";
import { afterEach, describe, expect, test } from "vitest";
import { createKernel, type Kernel, type Principal } from "#core";
import { Agents } from "#plugins/agent";
import { Events } from "#plugins/events";
import { Sessions } from "#plugins/sessions";
import { toolDirs } from "#plugins/tools";
import { built } from "../../dist.ts";
import { until } from "../toolsrv/processes.ts";

const entry = built("toolsrv.js");
let dir: string;
let kernel: Kernel;
const A = "/session/s1/agent/a1";
const lines: string[] = [];

afterEach(async () => {
  await kernel.close();
  rmSync(dir, { recursive: true, force: true });
  lines.length = 0;
});

const shell = (command: string, more = {}) => ({ call: { name: "shell", args: { command, ...more } } });

/** A kernel with real tools and a model that answers with `replies`; agent a1 works in `dir`. */
async function start(replies: readonly object[]): Promise<void> {
  dir = realpathSync(mkdtempSync(join(tmpdir(), "ollie-proc-")));
  process.env.OLLIE_TMP_PATH = join(dir, "tmp");
  kernel = createKernel({
    plugins: [
      events(),
      sessions({ persist: false }),
      agentConfig(),
      prompts(),
      backends({ backend: "script" }),
      backendScript({ scenario: { replies: replies as never } }),
      scheduler(),
      tools({ dirs: toolDirs({}) }),
      toolsrv({ entry }),
      agent(),
      proc(),
    ],
  });
  await kernel.start();
  expect(kernel.status().filter(({ state }) => state !== "running")).toEqual([]);
  delete process.env.OLLIE_TMP_PATH;
  const stream = kernel.use(Events)?.subscribe("*");
  void (async () => {
    for await (const line of stream ?? []) if (String(line).startsWith("P ")) lines.push(String(line));
  })();
  await kernel.fs.rdwr("/session/new", "name=s1");
  await kernel.fs.rdwr("/session/s1/agent/new", `name=a1 cwd=${dir}`);
}

async function prompt(text: string, at = A): Promise<void> {
  await kernel.fs.write(`${at}/prompt`, text);
  const [, , s = "", , a = ""] = at.split("/");
  const session = kernel.use(Sessions)?.get(s);
  const one = session && kernel.use(Agents)?.get(session, a);
  while (one && one.state !== "idle") await one.waitChange("state", one.state, new AbortController().signal);
}

const ids = () => kernel.fs.ls(`${A}/proc`);
const messages = async (at = A) =>
  (await kernel.fs.read(`${at}/context`))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { role: string; content: string });

async function read(path: string): Promise<string> {
  let text = "";
  for await (const piece of kernel.fs.stream(path)) text += piece;
  return text;
}

describe("an agent's background processes", () => {
  test("H-064: the end of one reaches the model once, at an idle agent's next turn, and is shown at once", async () => {
    await start([
      { steps: [shell("while ! test -e go; do sleep 0.02; done; echo END; exit 7", { background: true })] },
      { steps: [{ text: "waiting" }] },
      { steps: [{ text: "I see" }] },
      { steps: [{ text: "yes" }] },
    ]);
    await prompt("start it");
    expect(await ids()).toEqual(["1"]);
    expect(await kernel.fs.read(`${A}/proc/1/status`)).toContain("state=running");
    writeFileSync(join(dir, "go"), "");
    expect(await read(`${A}/proc/1/out`)).toBe("END\n");
    expect(await kernel.fs.read(`${A}/proc/1/status`)).toContain("state=ended\ncode=7\n");
    await until(() => lines.length === 2);
    expect(lines).toEqual([`P start ${A.slice(1)}/proc/1\n`, `P exit ${A.slice(1)}/proc/1 7\n`]);
    await prompt("and now?");
    await prompt("again?");
    const all = await messages();
    const told = all.filter(({ content }) => content.includes("system-proc-interrupt"));
    expect(told).toHaveLength(1);
    expect(told[0]).toMatchObject({ role: "user" });
    expect(told[0]?.content).toMatch(
      /^and now\?\n\n<system-proc-interrupt>\nprocess 1 \(shell: .*\) ended with exit status 7; output since the last look:\nEND\n<\/system-proc-interrupt>$/,
    );
    await kernel.fs.write(`${A}/proc/1/ctl`, "dismiss");
    expect(await ids()).toEqual([]);
  });

  test("output rides behind later results, and the process ends with its agent", async () => {
    await start([
      { steps: [shell("echo ready; sleep 931", { background: true })] },
      { steps: [shell("while ! grep -q 931 /proc/[0-9]*/cmdline; do sleep 0.02; done; sleep 0.3")] },
      { steps: [{ text: "done" }] },
    ]);
    await prompt("go");
    const result = (await messages()).find(({ content }) => content.includes("system-proc-interrupt"));
    expect(result).toMatchObject({ role: "tool" });
    expect(result?.content).toContain(
      "\n\n<system-proc-interrupt>\nprocess 1 (shell: echo ready; sleep 931) runs; output",
    );
    const out = read(`${A}/proc/1/out`);
    await kernel.fs.remove(A);
    await out.catch(() => {});
    await expect(kernel.fs.read(`${A}/proc/1/status`)).rejects.toThrow();
  });

  test("ctl takes its three words; only people write it, kin read the output, the agent its status", async () => {
    await start([{ steps: [shell("echo out; sleep 932", { background: true })] }, { steps: [{ text: "ok" }] }]);
    await prompt("go");
    await kernel.fs.rdwr("/session/s1/agent/new", `name=a2 cwd=${dir}`);
    const session = kernel.use(Sessions)?.get("s1")?.id ?? "";
    const as = async (name: string, of = session, path = `/session/s1/agent/${name}`) => {
      const id = (await kernel.fs.read(`${path}/id`)).trim();
      const who: Principal = { name, groups: ["agent"], kind: "agent", agent: id, session: of };
      return kernel.fs.as(who);
    };
    const [self, kin, other] = [await as("a1"), await as("a2"), await as("a2", "elsewhere")];
    await self.rdwr("/session/new", "name=s2");
    await self.rdwr("/session/s2/agent/new", `name=c1 cwd=${dir}`);
    const child = await as("c1", kernel.use(Sessions)?.get("s2")?.id, "/session/s2/agent/c1");
    expect(await self.read(`${A}/proc/1/status`)).toContain("state=running");
    await expect(other.read(`${A}/proc/1/out`)).rejects.toThrow("permission denied");
    for (const fs of [kin, other]) await expect(fs.read(`${A}/proc/1/status`)).rejects.toThrow("permission denied");
    for (const fs of [self, kin, other])
      await expect(fs.write(`${A}/proc/1/ctl`, "kill")).rejects.toThrow("permission denied");
    for (const fs of [self, kin, child])
      for await (const piece of fs.stream(`${A}/proc/1/out`)) {
        expect(String(piece)).toBe("out\n");
        break;
      }
    await expect(read(`${A}/proc/9/out`)).rejects.toThrow("not found");
    await expect(kernel.fs.write(`${A}/proc/1/ctl`, "stop")).rejects.toThrow(
      'ctl: unknown verb "stop" (verbs: term kill dismiss)',
    );
    await expect(kernel.fs.write(`${A}/proc/1/ctl`, "dismiss")).rejects.toThrow("it runs (term or kill it first)");
    await kernel.fs.write(`${A}/proc/1/ctl`, "term\n");
    expect(await read(`${A}/proc/1/out`)).toBe("out\n");
    await until(() => lines.at(-1) === `P exit ${A.slice(1)}/proc/1 SIGTERM\n`);
  });

  test("H-065: a directory that one agent enters and removes is nothing to another", async () => {
    await start([
      { steps: [shell("mkdir x && cd x && echo in $PWD && rm -rf ../x")] },
      { steps: [{ text: "ok" }] },
      { steps: [shell("pwd")] },
      { steps: [{ text: "ok" }] },
    ]);
    const B = "/session/s1/agent/a2";
    mkdirSync(join(dir, "b"));
    await kernel.fs.rdwr("/session/s1/agent/new", `name=a2 cwd=${dir}/b`);
    for (const at of [A, B, B, A]) await prompt("go", at);
    const results = async (at: string) =>
      (await messages(at)).flatMap(({ role, content }) => (role === "tool" ? content.split("\n")[0] : []));
    expect(await results(A)).toEqual([`in ${dir}/x`, dir]);
    expect(await results(B)).toEqual([`in ${dir}/b/x`, `${dir}/b`]);
  });
});
