/** Agents that make agents: who may what, and what it costs whom. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Principal } from "#core";
import type { StreamEvent } from "#plugins/backends";
import { Sessions } from "#plugins/sessions";
import { type Rig, start, startAgent, tempDir } from "./kit.ts";
import { done, type Step, say, text } from "./model.ts";

const denied = /permission denied/;

/** The tree as the agent at `path` sees it. */
async function as({ fs, kernel }: Rig, path: string): Promise<Rig["fs"]> {
  const agent = (await fs.read(`${path}/id`)).trim();
  const session = kernel.use(Sessions)?.get(path.split("/")[2] ?? "")?.id ?? "";
  return fs.as({ name: agent, groups: ["agent"], kind: "agent", agent, session } satisfies Principal);
}

const priced = (input: number, output: number, costUSD: number): Step[] => [
  text("well"),
  { type: "usage", usage: { input, output, costUSD } } as StreamEvent,
  done(),
];

test("an agent makes agents and sessions below its own directory only", async () => {
  const rig = await startAgent();
  const { fs, A, cwd } = rig;
  const self = await as(rig, A);
  mkdirSync(join(cwd, "sub"));
  await self.rdwr("/session/s1/agent/new", `name=child cwd=${cwd}/sub`);
  await self.rdwr("/session/new", `name=s2\ncwd=${cwd}/sub`);
  for (const outside of ["/", tempDir(), `${cwd}/sub/../..`]) {
    await expect(self.rdwr("/session/s1/agent/new", `cwd=${outside}`), outside).rejects.toThrow(
      /is outside of its creator's/,
    );
    await expect(self.rdwr("/session/new", `name=s3\ncwd=${outside}`), outside).rejects.toThrow(
      /is outside of its creator's/,
    );
  }
  const child = await as(rig, "/session/s1/agent/child");
  await expect(child.rdwr("/session/s1/agent/new", `cwd=${cwd}`)).rejects.toThrow(/is outside of its creator's/);
  expect((await fs.ls("/session")).sort()).toEqual(["idx", "new", "s1", "s2"]);
  expect((await fs.ls("/session/s1/agent")).sort()).toEqual(["a1", "child", "new"]);
});

test("agents that agents make are at most four deep, also after a restart", async () => {
  const first = await startAgent();
  let maker = first.A;
  for (let n = 1; n <= 4; n++) {
    const made = `/session/s1/agent/d${n}`;
    await (await as(first, maker)).rdwr("/session/s1/agent/new", `name=d${n} cwd=${first.cwd}`);
    maker = made;
  }
  const tooDeep = async (rig: Rig) =>
    expect((await as(rig, maker)).rdwr("/session/s1/agent/new", `name=d5 cwd=${rig.cwd}`)).rejects.toThrow(
      "agent/new: agents that agents make are at most 4 deep",
    );
  await tooDeep(first);
  await first.close();
  const second = await start({ dir: first.dir, cwd: first.cwd });
  await tooDeep(second);
  expect((await second.fs.ls("/session/s1/agent")).length).toBe(6);
});

test("a session's creator and its children are kin; nobody else is", async () => {
  const rig = await startAgent();
  const { fs, A, cwd, model, until } = rig;
  const self = await as(rig, A);
  await self.rdwr("/session/new", "name=s2");
  await self.rdwr("/session/s2/agent/new", `name=w cwd=${cwd}`);
  const W = "/session/s2/agent/w";
  const child = await as(rig, W);
  await fs.rdwr("/session/new", "name=s3");
  await fs.rdwr("/session/s3/agent/new", `name=o cwd=${cwd}`);
  const other = await as(rig, "/session/s3/agent/o");

  model.replies = [say("from the creator"), say("from the child")];
  await self.write(`${W}/prompt`, "work");
  await until(async () => (await fs.read(`${W}/state`)) === "idle\n");
  expect(await self.read(`${W}/log`)).toContain("from the creator");
  await child.write(`${A}/prompt`, "which?");
  await rig.idle();
  expect(await child.read(`${A}/log`)).toContain("from the child");
  await expect(child.rdwr(`${A}/ctl`, "stop")).rejects.toThrow(denied);
  await expect(other.read(`${W}/log`)).rejects.toThrow(denied);
  await expect(other.write(`${W}/prompt`, "x")).rejects.toThrow(denied);
  await expect(other.rdwr("/session/s2/agent/new", `cwd=${cwd}`)).rejects.toThrow(denied);
  await expect(child.remove(W)).rejects.toThrow(denied);
  await self.rdwr(`${W}/ctl`, "stop");
  await self.remove(W);
  expect(await fs.ls("/session/s2/agent")).toEqual(["new"]);
});

test("H-105: stats show what an agent cost alone and with its children, each counted once", async () => {
  const rig = await startAgent();
  const { fs, A, cwd, model, until } = rig;
  const self = await as(rig, A);
  const stat = async (key: string, path = A) =>
    new RegExp(`^${key}=(.*)$`, "m").exec(await fs.read(`${path}/stats`))?.[1];
  const run = async (path: string, ...replies: Step[][]) => {
    for (const reply of replies) {
      model.replies = [reply];
      await fs.write(`${path}/prompt`, "go");
      await until(async () => (await fs.read(`${path}/state`)) === "idle\n");
    }
  };
  await run(A, priced(100, 10, 0.5));
  expect(await stat("costWithChildren")).toBeUndefined();
  await self.rdwr("/session/s1/agent/new", `name=c1 cwd=${cwd} model=big`);
  await self.rdwr("/session/new", "name=s2");
  await self.rdwr("/session/s2/agent/new", `name=c2 cwd=${cwd} model=big`);
  for (const path of ["/session/s1/agent/c1", "/session/s2/agent/c2"])
    await run(path, priced(10, 1, 0.01), priced(20, 2, 0.02));
  const expected = async () => {
    expect(await stat("cost")).toBe("$0.5000");
    expect(await stat("usage")).toBe("100 in, 10 out, 1 requests");
    expect(await stat("costWithChildren")).toBe("$0.5600");
    expect(await stat("usageWithChildren")).toBe("160 in, 16 out, 5 requests");
  };
  expect(await stat("children")).toBe("2");
  await expected();
  await self.remove("/session/s1/agent/c1");
  expect(await stat("children")).toBe("1");
  await expected();
  await rig.close();
  const again = await start({ dir: rig.dir, cwd });
  expect(await again.fs.read(`${A}/stats`)).toContain("costWithChildren=$0.5600\n");
});

test("one spending limit holds for a session and for those that its agents make", async () => {
  const rig = await startAgent({ agent: { maxCost: 1 } });
  const { fs, A, cwd, model, until } = rig;
  const self = await as(rig, A);
  await self.rdwr("/session/new", "name=s2");
  await self.rdwr("/session/s2/agent/new", `name=w cwd=${cwd}`);
  model.replies = [priced(1, 1, 1.5), say("never")];
  await self.write("/session/s2/agent/w/prompt", "spend");
  await until(async () => (await fs.read("/session/s2/agent/w/state")) === "idle\n");
  await fs.write(`${A}/prompt`, "more");
  await rig.idle();
  expect(await rig.chat()).toContain("spending limit of $1.0000 is reached");
  expect(model.requests).toHaveLength(1);
});
