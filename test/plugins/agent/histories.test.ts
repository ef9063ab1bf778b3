/** Histories of agents at rest leave the memory, and come back when they are needed. */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Agents } from "#plugins/agent";
import { Sessions } from "#plugins/sessions";
import { type Runtime, runtimeOf } from "../../../plugins/agent/runtime.ts";
import { ok, type Rig, type RigOptions, start, startAgent, tempDir } from "./kit.ts";
import { call, calls, hang, say } from "./model.ts";

/** No room for a history at rest beside the last one. */
const tight = { agent: { historyBytes: 0 } };

const inside = ({ kernel }: Rig, name: string): Runtime => {
  const session = kernel.use(Sessions)?.get("s1");
  const agent = session && kernel.use(Agents)?.get(session, name);
  if (!agent) throw new Error(`there is no agent ${name}`);
  return runtimeOf(agent);
};
const away = (rig: Rig, name = "a1") => inside(rig, name).history.away;

/** Agents a1 and a2 of one session; `turn` runs one. */
async function two(options: RigOptions = tight) {
  const rig = await startAgent(options);
  await rig.fs.rdwr("/session/s1/agent/new", `name=a2 cwd=${rig.cwd}`);
  const turn = async (name: string, prompt: string, answer: string) => {
    rig.model.replies = [say(answer)];
    await rig.fs.write(`/session/s1/agent/${name}/prompt`, prompt);
    await rig.until(async () => (await rig.fs.read(`/session/s1/agent/${name}/state`)) === "idle\n");
  };
  return { ...rig, turn };
}

const contents = (rig: Rig) => rig.model.requests.at(-1)?.messages.map(({ content }) => content);

test("the history of an agent that rests leaves the memory for another's, and the next prompt has all of it", async () => {
  const rig = await two();
  const { fs, A, turn, until } = rig;
  await turn("a1", "one", "1");
  await turn("a1", "two", "2");
  expect(away(rig)).toBe(0);
  const stats = await fs.read(`${A}/stats`);
  await turn("a2", "other", "3");
  await until(() => away(rig) === 4);
  expect(await fs.read(`${A}/stats`)).toBe(stats);
  // listing, settings, queue and chat need no history
  await fs.write(`${A}/plan`, "- [ ] x\n");
  await fs.read("/session/idx");
  await fs.read(`${A}/chat`);
  expect(away(rig)).toBe(4);
  await turn("a1", "three", "4");
  expect(contents(rig)?.slice(-5)).toEqual(["one", "1", "two", "2", "three"]);
  expect(await fs.read(`${A}/stats`)).not.toContain("prefix broken");
});

test("what shows the history has it read, and it stays where there is room", async () => {
  const rig = await two({});
  const { fs, A, turn } = rig;
  await turn("a1", "one", "1");
  await turn("a2", "other", "2");
  expect([away(rig), away(rig, "a2")]).toEqual([0, 0]);
  await rig.close();

  const again = await start({ dir: rig.dir, cwd: rig.cwd });
  expect(away(again)).toBe(2);
  expect(await again.fs.read(`${A}/stats`)).toContain("\nmessages=2\n");
  expect(away(again)).toBe(2);
  const lines = (await again.fs.read(`${A}/context`)).trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line).content).slice(-2)).toEqual(["one", "1"]);
  expect([away(again), away(again, "a2")]).toEqual([0, 2]);
  await again.fs.write("/session/s1/agent/a2/prompt", "/history");
  expect(await again.fs.read("/session/s1/agent/a2/chat")).toContain("user: other\nassistant: 2\n");
  expect(fs).toBeDefined();
});

test("a file in one piece is written anew before its histories leave the memory", async () => {
  const first = await two({});
  await first.turn("a1", "one", "1");
  await first.turn("a2", "other", "2");
  await first.close();
  const file = join(first.dir, readdirSync(first.dir).find((name) => name.endsWith(".json")) ?? "");
  const saved = JSON.parse(readFileSync(file, "utf8"));
  writeFileSync(file, JSON.stringify(saved));
  const rig = await start({ dir: first.dir, cwd: first.cwd, ...tight });
  await rig.fs.read(`${rig.A}/stats`);
  await rig.until(() => away(rig) === 2);
  expect(away(rig, "a2")).toBe(0);
  expect(JSON.parse(readFileSync(file, "utf8")).agents.map(({ messages }: never) => messages)).toEqual(
    saved.agents.map(({ messages }: never) => messages),
  );
  expect(await rig.fs.read(`${rig.A}/context`)).toContain('"one"');
});

test("a history that is away is cleared, saved again and killed like any other", async () => {
  const rig = await two();
  const { fs, A, turn, until } = rig;
  await turn("a1", "one", "1");
  await turn("a2", "other", "2");
  await until(() => away(rig) === 2);
  // the other's snapshots keep it
  await turn("a2", "more", "3");
  await turn("a1", "two", "4");
  expect(contents(rig)?.slice(-3)).toEqual(["one", "1", "two"]);
  await turn("a2", "and", "5");
  await until(() => away(rig) === 4);
  await fs.rdwr(`${A}/ctl`, "clear");
  await turn("a1", "anew", "6");
  expect(contents(rig)?.slice(-2).includes("4")).toBe(false);
  expect(contents(rig)?.at(-1)).toBe("anew");
  await turn("a2", "last", "7");
  await until(() => away(rig) === 2);
  await fs.remove("/session/s1/agent/a2");
  await rig.close();
  const again = await start({ dir: rig.dir, cwd: rig.cwd });
  expect((await again.fs.read(`${A}/context`)).match(/"content":"(anew|6|one)"/g)).toEqual([
    '"content":"anew"',
    '"content":"6"',
  ]);
});

test("after a crash in the middle of calls the end of the history is repaired without reading the rest", async () => {
  const first = await startAgent({ run: () => new Promise(() => {}) });
  const { fs, A, model, idle, until } = first;
  model.replies = [say("well")];
  await fs.write(`${A}/prompt`, "one");
  await idle();
  model.replies = [calls(call("look", { n: 1 }, "c1"), call("look", { n: 2 }, "c2")), [hang()]];
  await fs.write(`${A}/prompt`, "two");
  await until(() => first.ran.length > 0);
  // another agent comes to rest: a snapshot in the middle of the calls
  await fs.rdwr("/session/s1/agent/new", `name=a2 cwd=${first.cwd}`);
  await first.kernel.use(Sessions)?.snapshot(inside(first, "a1").session);
  const dir = tempDir();
  cpSync(first.dir, dir, { recursive: true });
  for (const name of readdirSync(dir)) if (name.startsWith("lock.")) rmSync(join(dir, name));

  const second = await start({ dir, cwd: first.cwd });
  expect(away(second)).toBe(3);
  expect(await second.chat()).toContain("2 calls were interrupted");
  second.model.replies = [say("fine")];
  await second.fs.write(`${A}/prompt`, "three");
  await second.idle();
  expect(second.model.complaints).toEqual([]);
  const sent = second.model.requests[0]?.messages.map(({ role }) => role).join(" ");
  expect(sent).toMatch(/user assistant user assistant tool tool user$/);
});

test("nothing leaves the memory that the disk does not have", async () => {
  const rig = await two();
  const { fs, A, turn, until, dir } = rig;
  await turn("a1", "one", "1");
  const moved = `${dir}.away`;
  cpSync(dir, moved, { recursive: true });
  rmSync(dir, { recursive: true });
  await turn("a1", "two", "2");
  await turn("a2", "other", "3");
  expect(away(rig)).toBe(0);
  expect(await fs.read(`${A}/context`)).toContain('"two"');
  mkdirSync(dir, { mode: 0o700 });
  cpSync(moved, dir, { recursive: true });
  await turn("a2", "more", "4");
  await until(() => away(rig) === 4);
  await turn("a1", "three", "5");
  expect(contents(rig)?.slice(-5)).toEqual(["one", "1", "two", "2", "three"]);
});

test("a prompt that comes with a history that can not be read waits, and it is said", async () => {
  const rig = await two();
  const { fs, A, turn, until, lines } = rig;
  await turn("a1", "one", "1");
  await turn("a2", "other", "2");
  await until(() => away(rig) === 2);
  const files = readdirSync(rig.dir).filter((name) => name.endsWith(".json"));
  rmSync(join(rig.dir, files[0] as string));
  rig.model.replies = [say("never")];
  await fs.write(`${A}/prompt`, "two");
  await until(async () => (await fs.read(`${A}/state`)) === "idle\n");
  expect(await fs.read(`${A}/stats`)).toContain("queued=1\nheld=1\n");
  expect(lines.join("\n")).toMatch(/^E session\/s1\/agent\/a1 session s1 can not be read: /m);
});

test("the journal of a turn without end is folded into the snapshot meanwhile, and nothing of it is lost", async () => {
  const rounds = 40;
  const rig = await startAgent({
    agent: { resultBytes: 0 },
    run: ({ args }) => ok(`${args.n} ${"x".repeat(1 << 20)}`),
  });
  const { fs, A, model, until } = rig;
  model.window = 1e9;
  model.replies = [...Array.from({ length: rounds }, (_, n) => calls(call("shell", { n }))), [hang()]];
  await fs.write(`${A}/prompt`, "go");
  await until(() => model.requests.length > rounds);
  const journal = join(rig.dir, readdirSync(rig.dir).find((name) => name.endsWith(".jsonl")) ?? "");
  await until(() => statSync(journal).size < (rounds / 2 + 5) << 20);
  const dir = tempDir();
  cpSync(rig.dir, dir, { recursive: true, filter: (file) => !file.includes("lock.") });
  const again = await start({ dir, cwd: rig.cwd });
  const found = await again.fs.read(`${A}/context`);
  expect([...found.matchAll(/"content":"(\d+) xxx/g)].map(([, n]) => Number(n))).toEqual(
    Array.from({ length: rounds }, (_, n) => n),
  );
});
