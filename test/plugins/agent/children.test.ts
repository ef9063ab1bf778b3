/** What becomes of the agents that an agent made, when that is stopped or killed. */
import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Principal } from "#core";
import { Sessions } from "#plugins/sessions";
import { ok, type Rig, type Run, start, startAgent, tempDir } from "./kit.ts";
import { call, calls, done, hang, type Reply, type Step, say, text } from "./model.ts";

/** The tree as an agent sees it. */
async function as({ fs, kernel }: Rig, path: string): Promise<Rig["fs"]> {
  const agent = (await fs.read(`${path}/id`)).trim();
  const session = kernel.use(Sessions)?.get(path.split("/")[2] ?? "")?.id ?? "";
  return fs.as({ name: agent, groups: ["agent"], kind: "agent", agent, session } satisfies Principal);
}

/** A call that does its work, and then waits for its stop. */
const workThenWait =
  (work: () => Promise<unknown>): Run =>
  async (_request, { signal }) => {
    const stopped = new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    await work();
    await stopped;
    return { status: "cancelled", content: "waited" };
  };

const state = async ({ fs }: Rig, path: string) => (await fs.read(`${path}/state`)).trim();

/** Agent a1 with its children c1, in its own session, and c2, in a session that it made. */
async function parents(options: { run?: Run; dir?: string } = {}) {
  let work = async (): Promise<unknown> => undefined;
  const rig = await startAgent({ run: workThenWait(() => work()), ...options });
  const self = await as(rig, rig.A);
  const working = (next: () => Promise<unknown>) => {
    work = next;
  };
  const [C1, C2] = ["/session/s1/agent/c1", "/session/s2/agent/c2"];
  await self.rdwr("/session/s1/agent/new", `name=c1 cwd=${rig.cwd}`);
  await self.rdwr("/session/new", "name=s2");
  await self.rdwr("/session/s2/agent/new", `name=c2 cwd=${rig.cwd}`);
  return { ...rig, self, C1, C2, working };
}

test("H-087: a stop ends what its children do for this turn, wherever they are, and theirs", async () => {
  const rig = await parents();
  const { fs, A, C1, C2, self, model, working } = rig;
  await (await as(rig, C1)).rdwr("/session/s1/agent/new", `name=g1 cwd=${rig.cwd}`);
  const G1 = "/session/s1/agent/g1";
  let asked = 0;
  working(async () => {
    if (asked++ > 0) return (await as(rig, C1)).write(`${G1}/prompt`, "deeper");
    await self.write(`${C1}/prompt`, "work");
    await self.write(`${C2}/fifo`, "work");
  });
  model.replies = [calls(call("shell")), calls(call("shell")), [hang()], [hang()]];
  await fs.write(`${A}/prompt`, "go");
  await rig.until(async () => (await state(rig, G1)) === "thinking" && (await state(rig, C2)) === "thinking");
  await fs.rdwr(`${A}/ctl`, "stop");
  for (const path of [A, C1, C2, G1]) await rig.until(async () => (await state(rig, path)) === "idle");
  expect(await fs.read(`${C1}/context`)).toContain("interrupted by the stop of the agent that asked for it");
  expect(await fs.read(`${A}/context`)).toContain("interrupted by the user's stop");
  // the next prompt of each runs
  model.replies = [say("well")];
  await self.write(`${C1}/prompt`, "again");
  await rig.until(async () => (await fs.read(`${C1}/chat`)).endsWith("assistant: well\n"));
});

test("H-087: what outlives its stop for a moment asks no child for more", async () => {
  let late: Promise<unknown> | undefined;
  const rig = await parents({
    run: async (_request, { signal }) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      late = rig.self.write(`${rig.C1}/prompt`, "more");
      await late.catch(() => {});
      return { status: "cancelled", content: "waited" };
    },
  });
  const { fs, A, C1, model } = rig;
  model.replies = [calls(call("shell"))];
  await fs.write(`${A}/prompt`, "go");
  await rig.until(async () => (await state(rig, A)) === "calling: shell");
  await fs.rdwr(`${A}/ctl`, "stop");
  await rig.until(async () => (await state(rig, A)) === "idle");
  await expect(late).rejects.toThrow("c1: the turn of a1 was stopped");
  expect(await fs.read(`${C1}/queue`)).toBe("");
});

test("H-087: what children do for a person, or for an earlier turn, goes on; a new prompt ends nothing", async () => {
  const rig = await parents({
    run: async () => {
      await rig.self.write(`${rig.C1}/prompt`, "in the background");
      return ok("asked");
    },
  });
  const { fs, A, C1, C2, model } = rig;
  let release = () => {};
  const waiting = new Promise<void>((resolve) => {
    release = resolve;
  });
  const slow: Step[] = [{ type: "wait", until: waiting }, text("done"), done()];
  model.replies = [slow];
  await fs.write(`${C2}/prompt`, "for a person");
  await rig.until(() => model.requests.length === 1);
  const either: Reply = ({ messages }) => (messages.at(-1)?.role === "tool" ? say("later") : slow);
  model.replies = [calls(call("shell")), either, either];
  await fs.write(`${A}/prompt`, "go");
  await rig.idle();
  model.replies = [[hang()]];
  await fs.write(`${A}/prompt`, "next");
  await rig.until(() => model.requests.length === 5);
  await fs.rdwr(`${A}/ctl`, "stop");
  await rig.idle();
  expect([await state(rig, C1), await state(rig, C2)]).toEqual(["thinking", "thinking"]);
  release();
  for (const path of [C1, C2]) await rig.until(async () => (await fs.read(`${path}/chat`)).includes("assistant: done"));
});

test("kill ends the agents that it made, and empty sessions of its own; what a person put there stays", async () => {
  const rig = await parents();
  const { fs, A, C1, C2, self, model, lines } = rig;
  await self.rdwr("/session/new", "name=s3");
  await fs.rdwr("/session/s3/agent/new", `name=mine cwd=${rig.cwd}`);
  await (await as(rig, C2)).rdwr("/session/s2/agent/new", `name=g2 cwd=${rig.cwd}`);
  model.replies = [[hang()], [hang()]];
  await self.write(`${C1}/prompt`, "work");
  await self.write(`${C2}/prompt`, "work");
  await rig.until(() => model.requests.length === 2);
  await fs.remove(A);
  expect(await fs.ls("/session/s1/agent")).toEqual(["new"]);
  expect((await fs.ls("/session")).sort()).toEqual(["idx", "new", "s1", "s3"]);
  expect((await fs.ls("/session/s3/agent")).sort()).toEqual(["mine", "new"]);
  await rig.until(() => lines.includes("A kill session/s2/agent/g2") && lines.includes("A kill session/s1/agent/a1"));
  await rig.close();
  const again = await start({ dir: rig.dir, cwd: rig.cwd });
  expect((await again.fs.read("/session/idx")).match(/\t(a1|c1|c2|g2|mine)\t/g)).toEqual(["\tmine\t"]);
});

test("the kill of a session ends what its agents made in others, once, though both are asked for at a time", async () => {
  const rig = await parents();
  const { fs, C2, lines } = rig;
  await Promise.all([fs.remove("/session/s1"), fs.remove(C2), fs.remove(rig.A).catch(() => {})]);
  await rig.until(async () => (await fs.ls("/session")).length === 2);
  await rig.until(() => lines.includes("S kill session/s2"));
  expect(lines.filter((line) => line === "A kill session/s2/agent/c2")).toHaveLength(1);
});

test("also of a session that nobody has used since a restart; one whose file is damaged takes nothing with it", async () => {
  const first = await parents();
  const id = (await first.fs.read("/session/s1/id")).trim();
  await first.close();
  const second = await start({ dir: first.dir, cwd: first.cwd });
  const dir = tempDir();
  cpSync(first.dir, dir, { recursive: true, filter: (file) => !file.includes("lock.") });
  await second.fs.remove("/session/s1");
  expect(await second.fs.ls("/session")).toEqual(["new", "idx"]);

  writeFileSync(join(dir, `${id}.journal.jsonl`), "no\n");
  const third = await start({ dir, cwd: first.cwd });
  await expect(third.fs.read(`${first.A}/id`)).rejects.toThrow();
  await third.until(async () => (await third.fs.read("/session/idx")).includes("s1\tdamaged"));
  expect(await third.fs.ls("/session/s2/agent")).toContain("c2");
});

test("an agent that is being killed makes no more", async () => {
  const rig = await parents();
  const { fs, A, self } = rig;
  const made = [self.rdwr("/session/s1/agent/new", `name=late cwd=${rig.cwd}`), fs.remove(A)];
  await Promise.allSettled(made);
  expect(await fs.ls("/session/s1/agent")).toEqual(["new"]);
});

test("agents below one session make 32 sessions together; others, and people, still make theirs", async () => {
  const rig = await parents();
  const { fs, self, C2, A } = rig;
  const child = await as(rig, C2);
  for (let n = 2; n <= 32; n++) await (n % 2 ? self : child).rdwr("/session/new", `name=m${n}`);
  for (const agent of [self, child])
    await expect(agent.rdwr("/session/new", "name=more")).rejects.toThrow(
      "session/new: agents of this session have made 32 sessions already (limit)",
    );
  await fs.rdwr("/session/new", `name=other cwd=${rig.cwd}`);
  const [name] = (await fs.ls("/session/other/agent")).filter((one) => one !== "new");
  await (await as(rig, `/session/other/agent/${name}`)).rdwr("/session/new", "name=more");
  await fs.remove("/session/m2");
  await self.rdwr("/session/new", "name=again");
  await fs.remove(A);
  expect((await fs.ls("/session")).sort()).toEqual(["idx", "more", "new", "other", "s1"]);
});

test("an agent sees the events of its session, of those that it made, and of the agent that made its own; no others", async () => {
  const rig = await parents();
  const { fs, A, C1, C2, self } = rig;
  const child = await as(rig, C2);
  await fs.rdwr("/session/new", "name=other");
  await fs.rdwr("/session/other/agent/new", `name=o cwd=${rig.cwd}`);
  const told = async (fs: Rig["fs"]) => {
    const lines = await fs.read("/eventwait");
    return [...lines.matchAll(/rename session\/\S+ session\/\S*?(\w+)$/gm)].map(([, name]) => name);
  };
  const seen = [told(self), told(child)];
  // all in one tick: the first answer has them
  await Promise.all([
    fs.rename("/session/other/agent/o", "o1"),
    fs.rename(A, "a"),
    fs.rename(C1, "b"),
    fs.rename(C2, "c"),
    fs.rename("/session/other", "elsewhere"),
  ]);
  expect(await Promise.all(seen)).toEqual([
    ["a", "b", "c"],
    ["a", "c"],
  ]);
});
