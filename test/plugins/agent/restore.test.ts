import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ok, type Rig, type RigOptions, start, startAgent, tempDir, tool } from "./kit.ts";
import { call, calls, hang, say, text } from "./model.ts";

/** The sessions as a daemon leaves them that is killed at this moment. */
function crashed(rig: Rig): string {
  const dir = tempDir();
  cpSync(rig.dir, dir, { recursive: true });
  for (const name of readdirSync(dir)) if (name.startsWith("lock.")) rmSync(join(dir, name));
  return dir;
}

const again = (rig: Rig, options: RigOptions = {}, dir = crashed(rig)) => start({ dir, cwd: rig.cwd, ...options });

test("an agent is there again after a restart, with all that it was", async () => {
  const first = await startAgent();
  const { fs, A, model, idle } = first;
  model.replies = [calls(call("look", { n: 1 }, "c1")), say("seen")];
  await fs.write(`${A}/prompt`, "go");
  await idle();
  await fs.write(`${A}/plan`, "- [ ] one\n");
  await fs.rdwr(`${A}/ctl`, "model big\ntool_unload shell\nname a2");
  await fs.write("/session/s1/agent/a2/cfg", "temperature=0.5\n");
  const id = await fs.read("/session/s1/agent/a2/id");
  const stats = await fs.read("/session/s1/agent/a2/stats");
  const chat = await fs.read("/session/s1/agent/a2/chat");
  const idx = await fs.read("/session/idx");
  await first.close();
  const { fs: fs2, model: model2 } = await start({ dir: first.dir, cwd: first.cwd });
  const B = "/session/s1/agent/a2";
  expect(await fs2.read(`${B}/id`)).toBe(id);
  expect(await fs2.read("/session/idx")).toBe(idx);
  expect(await fs2.read(`${B}/stats`)).toBe(stats);
  expect(await fs2.read(`${B}/chat`)).toBe(chat);
  expect(await fs2.read(`${B}/plan`)).toBe("- [ ] one\n");
  expect(await fs2.read(`${B}/tools`)).toBe("look\ntouch\n");
  expect(await fs2.read(`${B}/cfg`)).toContain("model=big\n");
  expect(await fs2.read(`${B}/cfg`)).toContain("temperature=0.5\n");
  expect(await fs2.read(`${B}/prompt`)).toBe("go");
  model2.replies = [say("more")];
  await fs2.write(`${B}/prompt`, "next");
  await first.until(async () => (await fs2.read(`${B}/state`)) === "idle\n");
  expect(model2.requests[0]?.messages).toEqual([
    ...(model.requests[1]?.messages ?? []),
    { role: "assistant", content: "seen" },
    { role: "user", content: "next" },
  ]);
});

test("H-020: after a crash in the middle of calls each has one result, finished ones their own", async () => {
  const first = await startAgent({
    run: ({ args }, { signal }) =>
      args.n === 2
        ? new Promise((resolve) => signal.addEventListener("abort", () => resolve(ok("late"))))
        : ok(`result ${args.n}`),
  });
  const { fs, A, model, until } = first;
  model.replies = [[text("I look."), ...calls(...[1, 2, 3].map((n) => call("look", { n }, `c${n}`)))]];
  await fs.write(`${A}/prompt`, "go");
  await until(() => first.ran.length === 3);
  await fs.write(`${A}/prompt`, "and then");
  const { fs: fs2, model: model2, idle, chat } = await again(first);
  expect(await fs2.read(`${A}/state`)).toBe("idle\n");
  expect(await fs2.read(`${A}/stats`)).toContain("queued=1\nheld=1\n");
  expect(await chat()).toMatch(
    /:: restored: the server ended in the middle of a turn; 1 call was interrupted; 1 prompt waits \(ctl resume\)\n$/,
  );
  model2.replies = [say("fine"), say("then")];
  await fs2.write(`${A}/prompt`, "next");
  await idle();
  expect(model2.complaints).toEqual([]);
  const results =
    model2.requests[0]?.messages.filter(({ role }) => role === "tool").map(({ content }) => content) ?? [];
  expect(results).toHaveLength(3);
  expect(results[0]).toBe("result 1");
  expect(results[1]).toMatch(/^interrupted: the server ended/);
  expect(results[2]).toBe("result 3");
  expect(model2.requests.map(({ messages }) => messages.at(-1)?.content)).toEqual(["next", "and then"]);
});

test("H-034: an acknowledged prompt is there after a crash at once behind it", async () => {
  const first = await startAgent();
  first.model.replies = [[hang()]];
  await first.fs.write(`${first.A}/prompt`, "do not lose me");
  const dir = crashed(first);
  const second = await again(first, {}, dir);
  const context = await second.fs.read(`${first.A}/context`);
  const queue = await second.fs.read(`${first.A}/queue`);
  expect(context + queue).toContain("do not lose me");
  expect(await second.fs.read(`${first.A}/state`)).toBe("idle\n");
  // Once more, without anything done: the same.
  const third = await again(second);
  expect((await third.fs.read(`${first.A}/context`)) + (await third.fs.read(`${first.A}/queue`))).toBe(context + queue);
  expect((await third.chat()).match(/:: restored: /g)).toHaveLength(1);
});

test("an agent that was killed does not come back; one made just before the crash does", async () => {
  const first = await startAgent();
  await first.fs.rdwr("/session/s1/agent/new", `name=a2 cwd=${first.cwd}`);
  await first.fs.remove(`${first.A}`);
  const second = await again(first);
  expect((await second.fs.ls("/session/s1/agent")).sort()).toEqual(["a2", "new"]);
  expect(readdirSync(first.dir).filter((file) => file.endsWith(".chat"))).toHaveLength(1);
});

test("H-037: without its backend an agent is kept, and says why at the next prompt", async () => {
  const first = await startAgent();
  first.model.replies = [say("hello")];
  await first.fs.write(`${first.A}/prompt`, "hi");
  await first.idle();
  const { fs, A, idle, lines, until, chat } = await again(first, { noBackend: true });
  expect(await fs.read(`${A}/chat`)).toBe("user: hi\nassistant: hello\n");
  await fs.write(`${A}/prompt`, "again");
  await idle();
  expect(await chat()).toMatch(/user: again\nerror: unknown backend "fake" \(backends: fake\)\n$/);
  await until(() => lines.some((line) => line.startsWith("E session/s1/agent/a1 unknown backend")));
  expect(await fs.read("/session/idx")).toContain("\tfake\tsmall\ta1\t");
});

test("H-038: an agent whose directory is gone is readable, and works again after cwd", async () => {
  const cwd = join(tempDir(), "work");
  mkdirSync(cwd);
  const first = await startAgent({ cwd });
  const dir = crashed(first);
  rmSync(cwd, { recursive: true });
  const { fs, A } = await start({ dir });
  expect(await fs.rdwr(`${A}/ctl`, "cwd")).toBe(`${cwd}\n`);
  await expect(fs.rdwr(`${A}/ctl`, `cwd ${cwd}`)).rejects.toThrow(`cwd "${cwd}" does not exist`);
  const next = tempDir();
  await fs.rdwr(`${A}/ctl`, `cwd ${next}`);
  expect(await fs.rdwr(`${A}/ctl`, "cwd")).toBe(`${next}\n`);
});

test("H-040: missing keys get defaults, unknown ones survive the next save", async () => {
  const first = await startAgent();
  first.model.replies = [say("hello")];
  await first.fs.write(`${first.A}/prompt`, "hi");
  await first.idle();
  await first.close();
  const file = join(first.dir, readdirSync(first.dir).find((name) => /^[0-9a-f-]{36}\.json$/.test(name)) ?? "");
  // The file may begin with a header line of its own; the agents' part is JSON in any case.
  const edit = (text: string) =>
    text
      .replace(/"(usage|plan|queue|spawn|held|running|last)":(\{[^{}]*\}|\[\]|"[^"]*"|true|false),/g, "")
      .replace(/"agent":"default",/, '"agent":"default","later":{"than":"us"},');
  const before = readFileSync(file, "utf8");
  writeFileSync(file, edit(before));
  expect(readFileSync(file, "utf8")).not.toBe(before);
  const second = await start({ dir: first.dir, cwd: first.cwd });
  expect(await second.fs.read(`${first.A}/stats`)).toContain("queued=0\nheld=0\n");
  second.model.replies = [say("again")];
  await second.fs.write(`${first.A}/prompt`, "next");
  await second.idle();
  expect(second.model.requests[0]?.messages).toHaveLength(4);
  expect(readFileSync(file, "utf8")).toContain('"later":{"than":"us"}');
});

test("what can not be taken for agents or their history is no session without them: the file stays", async () => {
  const first = await startAgent();
  first.model.replies = [say("hello")];
  await first.fs.write(`${first.A}/prompt`, "hi");
  await first.idle();
  await first.close();
  const file = join(first.dir, readdirSync(first.dir).find((name) => /^[0-9a-f-]{36}\.json$/.test(name)) ?? "");
  const { lists: _, ...good } = JSON.parse(readFileSync(file, "utf8"));
  const cases: [unknown, string][] = [
    [{}, '"agents" is no list'],
    [[...good.agents, { name: "b" }], 'an entry of "agents" has no UUID as its id'],
    [[{ ...good.agents[0], messages: "none" }], "is no list"],
  ];
  for (const [agents, why] of cases) {
    const edited = JSON.stringify({ ...good, agents });
    writeFileSync(file, edited);
    const rig = await start({ dir: first.dir, cwd: first.cwd });
    await expect(rig.fs.read(`${first.A}/context`)).rejects.toThrow("not found");
    expect(await rig.fs.read("/session/idx")).toMatch(/^s1\tdamaged\t/);
    await rig.until(() => rig.lines.some((line) => line.includes(why)));
    await rig.close();
    expect(readFileSync(file, "utf8")).toBe(edited);
  }
});

test("an unused inject is a held prompt after a crash", async () => {
  const first = await startAgent({ tools: [tool("look")] });
  first.model.replies = [[hang()]];
  await first.fs.write(`${first.A}/prompt`, "go");
  await first.until(() => first.model.requests.length === 1);
  await first.fs.write(`${first.A}/inject`, "by the way");
  const second = await again(first);
  expect(await second.fs.read(`${first.A}/queue`)).toMatch(/\tby the way\n$/);
});
