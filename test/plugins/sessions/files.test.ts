import { expect, test } from "vitest";
import type { Principal } from "#core";
import { Events } from "#plugins/events";
import { must, start, tempDir } from "./kit.ts";

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/;

test("new makes a session with the name asked for, or the first piece of its UUID", async () => {
  const { fs } = await start();
  const reply = await fs.rdwr("/session/new", "name=work env.A=1\n");
  expect(reply).toMatch(new RegExp(`^id=${uuid.source}\nname=work\n$`));
  const [, id = "", name] = /id=(.*)\nname=(.*)\n/.exec(await fs.rdwr("/session/new", "\n")) ?? [];
  expect(id.startsWith(`${name}-`)).toBe(true);
  expect(await fs.read(`/session/${id}/name`)).toBe(`${name}\n`);
  expect(await fs.read("/session/work/env")).toContain("\nA=1\n");
  expect((await fs.ls("/session")).sort()).toEqual(["idx", "new", name, "work"].sort());
});

test("new read before a write gives its keys", async () => {
  const { fs } = await start();
  expect(await fs.read("/session/new")).toBe("name=\nenv.NAME=\ncwd=\nmodel=\n");
});

test("new refuses what it can not do, in one sentence, and makes nothing", async () => {
  const { fs } = await start();
  await fs.rdwr("/session/new", "name=taken");
  const cases: [string, RegExp][] = [
    ["nmae=x", /unknown key "nmae" \(keys: name env\. cwd model\)/],
    ["name=taken", /name "taken" is already in use/],
    ["name=new", /is reserved/],
    ["name=a/b", /holds "\/"/],
    [`name=${"x".repeat(65)}`, /longer than 64/],
    ["name=12345678-1234-4234-8234-123456789012", /looks like a UUID/],
    ["name=x remote=me@there", /unknown key "remote"/],
    ["name=x model=m", /key "model" needs cwd= too/],
    ["name=x env.A-B=1", /"A-B" is no variable name/],
    ["name=x env.OLLIE_SESSION_ID=1", /can not be changed/],
    ["name=x cwd=/nowhere", /cwd \/nowhere is no directory/],
  ];
  for (const [body, text] of cases) await expect(fs.rdwr("/session/new", body), body).rejects.toThrow(text);
  expect((await fs.ls("/session")).sort()).toEqual(["idx", "new", "taken"]);
});

test("new with a part's trigger makes both in one step", async () => {
  const { fs } = await start();
  const reply = await fs.rdwr("/session/new", "name=one\ncwd=/tmp/a b\nmodel=m");
  expect(reply).toMatch(/^id=.*\nname=one\nmade=\/tmp\/a b by .*\n$/);
});

test("idx has a line per agent, sorted by session, and empty fields without one", async () => {
  const { fs, sessions } = await start();
  await fs.rdwr("/session/new", "name=b cwd=/x");
  await fs.rdwr("/session/new", "name=a");
  const [a, b] = [sessions.get("a")?.id, sessions.get("b")?.id];
  expect(await fs.read("/session/idx")).toBe(`a\t\t\t\t\t\t${a}\t\nb\tidle\tcwd=/x\tb\tm\tn0\t${b}\t0\n`);
});

test("env merges lines, deletes empty ones, and is written back as it was read", async () => {
  const { fs, sessions } = await start();
  await fs.rdwr("/session/new", "name=s");
  const id = sessions.get("s")?.id;
  await fs.write("/session/s/env", "B=two words\n# a comment\n\nA=1=2\n");
  expect(await fs.read("/session/s/env")).toMatch(
    new RegExp(`^OLLIE_SESSION_ID=${id}\n(OLLIE_.*\n)*A=1=2\nB=two words\n$`),
  );
  await fs.write("/session/s/env", `${await fs.read("/session/s/env")}C=3\n`);
  expect([...(sessions.get("s")?.env ?? [])].sort()).toEqual([
    ["A", "1=2"],
    ["B", "two words"],
    ["C", "3"],
  ]);
  await fs.write("/session/s/env", "A=\n");
  expect(sessions.get("s")?.env.has("A")).toBe(false);
});

test("env takes all lines or none", async () => {
  const { fs, sessions } = await start();
  await fs.rdwr("/session/new", "name=s");
  for (const [text, reason] of [
    ["A=1\nnonsense\n", /line 2 is not NAME=VALUE/],
    ["A=1\n1B=2\n", /"1B" is no variable name/],
    ["A=1\nOLLIE_SESSION_ID=x\n", /can not be changed/],
  ] as const)
    await expect(fs.write("/session/s/env", text)).rejects.toThrow(reason);
  expect(sessions.get("s")?.env.size).toBe(0);
  await expect(fs.write("/session/s/env", `A=${"x".repeat(300_000)}`)).rejects.toThrow();
});

test("env shows an agent no secrets and nothing of another session", async () => {
  const { fs, sessions } = await start();
  await fs.rdwr("/session/new", "name=mine env.MY_TOKEN=hush env.A=1");
  await fs.rdwr("/session/new", "name=other");
  const agent: Principal = {
    name: "a",
    groups: ["agent"],
    kind: "agent",
    agent: "a",
    session: sessions.get("mine")?.id ?? "",
  };
  expect(await fs.read("/session/mine/env")).toContain("MY_TOKEN=hush\n");
  const seen = await fs.as(agent).read("/session/mine/env");
  expect(seen).toContain("A=1\n");
  expect(seen).not.toContain("MY_TOKEN");
  await expect(fs.as(agent).read("/session/other/env")).rejects.toThrow("permission denied");
  await expect(fs.as(agent).write("/session/mine/env", "A=2")).rejects.toThrow();
  await expect(fs.as(agent).rdwr("/session/mine/ctl", "kill")).rejects.toThrow();
  await expect(fs.as(agent).remove("/session/mine")).rejects.toThrow();
  await expect(fs.as(agent).rename("/session/mine", "yours")).rejects.toThrow();
  expect(sessions.get("mine")?.env.get("A")).toBe("1");
});

test("a session that an agent makes says so, also after a restart, and its maker alone may remove it", async () => {
  const dir = tempDir();
  const first = await start(dir);
  await first.fs.rdwr("/session/new", "name=mine");
  const principal = (agent: string, session: string): Principal => ({
    ...{ name: agent, groups: ["agent"], kind: "agent", agent, session },
  });
  const maker = principal("a", must(first.sessions.get("mine")).id);
  await first.fs.as(maker).rdwr("/session/new", "name=child");
  await first.kernel.close();
  const { fs, sessions } = await start(dir);
  expect(must(sessions.get("child")).creator).toEqual({ session: must(sessions.get("mine")).id, agent: "a" });
  expect(must(sessions.get("mine")).creator).toBeUndefined();
  await expect(fs.as(principal("b", maker.session ?? "")).remove("/session/child")).rejects.toThrow(
    "permission denied",
  );
  await expect(fs.as(maker).rename("/session/child", "x")).rejects.toThrow("permission denied");
  await fs.as(maker).remove("/session/child");
  expect(sessions.get("child")).toBeUndefined();
});

test("a session is renamed by its name file and by the directory", async () => {
  const { fs, sessions } = await start();
  await fs.rdwr("/session/new", "name=a");
  await fs.rdwr("/session/new", "name=other");
  const session = sessions.get("a");
  await fs.write("/session/a/name", "b\n");
  expect(session?.name).toBe("b");
  await fs.rename("/session/b", "c d");
  expect(sessions.get("c d")).toBe(session);
  await expect(fs.write("/session/c d/name", "other")).rejects.toThrow(/already in use/);
  await expect(fs.write("/session/c d/name", "idx")).rejects.toThrow(/reserved/);
  await expect(fs.rename("/session/c d", "other")).rejects.toThrow(/already in use|exists/);
  expect(session?.name).toBe("c d");
});

test("events tell of new, renamed and killed sessions", async () => {
  const { kernel, fs, sessions } = await start();
  const reader = must(kernel.use(Events)).subscribe("session.*");
  await fs.rdwr("/session/new", "name=a");
  await fs.rename("/session/a", "b");
  await fs.write("/session/b/name", "b");
  await sessions.kill(must(sessions.get("b")));
  await expect(fs.rdwr("/session/new", "name=x cwd=/nowhere")).rejects.toThrow();
  const seen: unknown[] = [];
  for (let line = reader.take(1000); line !== undefined; line = reader.take(1000)) seen.push(line);
  expect(seen).toEqual([
    "S new session/a\n",
    "S rename session/a session/b\n",
    "S kill session/b\n",
    "S new session/x\n",
    "S kill session/x\n",
  ]);
  reader.close();
});

test("ctl runs its lines in order, and none when one is wrong", async () => {
  const { fs, part } = await start();
  await fs.rdwr("/session/new", "name=s");
  await expect(fs.rdwr("/session/s/ctl", "pause\nexplode\n")).rejects.toThrow(
    'session ctl: unknown verb "explode" (verbs: kill save invalidate pause resume help)',
  );
  await expect(fs.rdwr("/session/s/ctl", "pause now")).rejects.toThrow("session ctl: pause takes no argument");
  expect(part.said).toEqual([]);
  await fs.rdwr("/session/s/ctl", "pause\nresume\ninvalidate\n");
  expect(part.said).toEqual(["pause s", "resume s", "invalidate s"]);
  expect(await fs.rdwr("/session/s/ctl", "help")).toMatch(/^kill .*\nsave .*\n/);
  await expect(fs.rdwr("/session/s/ctl", "save")).rejects.toThrow(/in memory only/);
});

test("kill by ctl ends the part, the directory and open readers", async () => {
  const { fs, part, sessions } = await start();
  await fs.rdwr("/session/new", "name=s");
  const session = sessions.get("s");
  await fs.write("/session/s/ctl", "kill\n");
  expect(part.said).toEqual(["kill s"]);
  expect(session?.dead).toBe(true);
  expect((await fs.ls("/session")).sort()).toEqual(["idx", "new"]);
  await expect(fs.read("/session/s/id")).rejects.toThrow(/not found/);
  await fs.rdwr("/session/new", "name=s");
});

test("sandbox says off where no tool runner is there", async () => {
  const { fs } = await start();
  await fs.rdwr("/session/new", "name=s");
  expect(await fs.read("/session/s/sandbox")).toBe("provider=off\n");
});

test("the 257th session is refused", async () => {
  const { fs, sessions } = await start();
  for (let n = 0; n < 256; n++) sessions.create({ name: `s${n}` });
  await expect(fs.rdwr("/session/new", "name=more")).rejects.toThrow(
    "session/new: there are 256 sessions already (limit)",
  );
});
