import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Principal } from "#core";
import { Sessions } from "#plugins/sessions";
import { type Rig, startAgent } from "./kit.ts";
import { hang, say, text } from "./model.ts";

/** What the chat says behind the present end of it, once `write` was taken. */
async function answer({ fs, A, chat }: Rig, command: string): Promise<string> {
  const before = await chat();
  await fs.write(`${A}/prompt`, command);
  return (await chat()).slice(before.length);
}

test("slash commands answer in chat, cost no request, and change what they say", async () => {
  const rig = await startAgent();
  const { fs, A, model, cwd } = rig;
  expect(await answer(rig, "/help")).toMatch(
    /^user: \/help\n:: \/stop +ends the turn[\s\S]*:: \/i TEXT +reaches[\s\S]*:: !CMD /,
  );
  for (const name of ["context", "usage", "cost", "history"])
    expect(await answer(rig, `/${name}`)).toBe(`user: /${name}\n:: no active session\n`);
  expect(await answer(rig, "/models")).toBe("user: /models\n::   big\n:: * small\n");
  expect(await answer(rig, "/model big\n")).toBe("user: /model big\n:: big\n");
  expect(await answer(rig, "/agents")).toBe("user: /agents\n:: * default\n::   other\n");
  expect(await answer(rig, "/agent other")).toMatch(/:: history is cleared\n:: other\n$/);
  expect(await answer(rig, "/sp")).toBe("user: /sp\n:: You are another.\n");
  expect(await answer(rig, "/cwd")).toBe(`user: /cwd\n:: ${cwd}\n`);
  expect(await answer(rig, "/sessions")).toBe("user: /sessions\n:: * s1\n");
  expect(await answer(rig, "/tools")).toBe("user: /tools\n:: look\n:: touch\n:: shell\n");
  expect(await answer(rig, "/backend")).toBe("user: /backend\n:: fake\n");
  expect(await answer(rig, "/q")).toBe("user: /q\n:: none\n");
  expect(model.requests).toEqual([]);
  model.replies = [say("hello")];
  await fs.write(`${A}/prompt`, "hi");
  await rig.idle();
  expect(await answer(rig, "/history")).toBe("user: /history\n:: user: hi\n:: assistant: hello\n");
  expect(await answer(rig, "/usage")).toBe("user: /usage\n:: 0 in, 0 out, 0 requests\n");
  expect(await answer(rig, "/cost")).toBe("user: /cost\n:: $0.0000 last turn, $0.0000 in all\n");
  expect(await answer(rig, "/context")).toMatch(
    /^user: \/context\n:: \d+ \/ 1000 \(\d+%\)\n:: +\d+ user\n:: +\d+ assistant\n$/,
  );
  expect(await answer(rig, "/clear")).toBe("user: /clear\n:: history is cleared\n:: done\n");
  await fs.write(`${A}/prompt`, "/name b1");
  expect(await fs.read("/session/s1/agent/b1/chat")).toMatch(/user: \/name b1\n:: b1\n$/);
});

test("a slash command that fails says why in the reply, in chat and in an event", async () => {
  const { fs, A, lines, until } = await startAgent();
  const cases: [string, string][] = [
    ["/cwd /nowhere/at/all", '/cwd: cwd: cwd "/nowhere/at/all" does not exist'],
    ["/backend nope", '/backend: unknown backend "nope" (backends: fake)'],
    ["/tools x", "/tools: takes no argument"],
    ["/i", "/i: needs TEXT"],
    ["/agent nope", '/agent: unknown agent "nope" (agents: default other)'],
  ];
  for (const [command, why] of cases) {
    await expect(fs.write(`${A}/prompt`, command), command).rejects.toThrow(why);
    expect(await fs.read(`${A}/chat`)).toMatch(new RegExp(`error: ${why.replace(/[()/]/g, "\\$&")}\\n$`));
    await until(() => lines.includes(`E session/s1/agent/a1 ${why}`));
  }
});

test("an unknown word, a path and a text of several lines are prompts", async () => {
  const { fs, A, model, idle } = await startAgent();
  for (const prompt of ["/fix the bug", "/usr/bin/env is missing", "/model x\nis what I wrote", "/ alone", "//"]) {
    model.replies = [say("ok")];
    await fs.write(`${A}/prompt`, prompt);
    await idle();
    expect(model.requests.at(-1)?.messages.at(-1)?.content).toBe(prompt);
  }
});

test("while a turn runs, /i is injected, /model changes the next request, and /clear is refused", async () => {
  const { fs, A, model, until } = await startAgent();
  model.replies = [[text("x"), hang()]];
  await fs.write(`${A}/prompt`, "go");
  await until(() => model.requests.length === 1);
  await fs.write(`${A}/prompt`, "/i look at b\nas well");
  await fs.write(`${A}/prompt`, "/model big");
  await fs.write(`${A}/prompt`, "/q later");
  for (const command of ["/clear", "/compact", "/agent other", "/backend fake"])
    await expect(fs.write(`${A}/prompt`, command), command).rejects.toThrow("agent is running (stop it first)");
  expect(await fs.read(`${A}/queue`)).toMatch(/^\w+\t\S+\tlater\n$/);
  expect(await fs.read(`${A}/chat`)).toContain("user: look at b\nas well\n");
  await fs.write(`${A}/prompt`, "/stop");
  await until(async () => (await fs.read(`${A}/state`)) === "idle\n");
});

test("commands of agents are plain text", async () => {
  const { fs, A, model, idle, kernel, cwd } = await startAgent();
  const session = kernel.use(Sessions)?.get("s1")?.id ?? "";
  const as = (kind: "agent" | "hook") =>
    fs.as({
      name: "peer",
      groups: ["agent"],
      kind,
      session,
      agent: "11111111-1111-4111-8111-111111111111",
    } satisfies Principal);
  for (const prompt of ["/model big", "!touch made"]) {
    model.replies = [say("no")];
    await as("agent").write(`${A}/prompt`, prompt);
    await idle();
    expect(model.requests.at(-1)?.messages.at(-1)?.content).toBe(prompt);
  }
  expect(await fs.rdwr(`${A}/ctl`, "model")).toBe("small\n");
  expect(existsSync(join(cwd, "made"))).toBe(false);
  await as("hook").write(`${A}/prompt`, "/model big");
  expect(await fs.rdwr(`${A}/ctl`, "model")).toBe("big\n");
});

test("!cmd runs in the agent's directory with the session's variables and without keys, beside any turn", async () => {
  process.env.OLLIE_TEST_KEY = "secret";
  process.env.OLLIE_TEST_PLAIN = "plain";
  onTestFinished(() => {
    delete process.env.OLLIE_TEST_KEY;
    delete process.env.OLLIE_TEST_PLAIN;
  });
  const { fs, A, model, until, cwd, agent } = await startAgent();
  await fs.write("/session/s1/env", "MINE=my own\nMY_TOKEN=hidden\n");
  model.replies = [[text("busy"), hang()]];
  await fs.write(`${A}/prompt`, "go");
  await until(() => model.requests.length === 1);
  await fs.write(
    `${A}/prompt`,
    `!pwd; echo "$MINE $OLLIE_TEST_PLAIN[$OLLIE_TEST_KEY$MY_TOKEN]" >&2; echo "$OLLIE_AGENT"; exit 3`,
  );
  const chat = () => fs.read(`${A}/chat`);
  await until(async () => (await chat()).includes("exit status 3"));
  expect(await chat()).toContain(`:: ${cwd}\n:: my own plain[]\n:: a1\n:: exit status 3\n`);
  expect(agent().state).toBe("thinking");
  await fs.write(`${A}/prompt`, "!");
  expect(await chat()).toMatch(/exit status 3\n$/);
  expect(model.requests).toHaveLength(1);
});

test("stop ends !cmd and all that it started; so does the agent's end", async () => {
  const { fs, A, cwd, until, agent } = await startAgent();
  const alive = (file: string) => {
    const pid = Number(readFileSync(join(cwd, file), "utf8"));
    // An orphan stays as a zombie until init takes note of it.
    const stat = existsSync(`/proc/${pid}/stat`) ? readFileSync(`/proc/${pid}/stat`, "utf8") : ") Z";
    return !stat.slice(stat.lastIndexOf(")")).startsWith(") Z");
  };
  const begin = async (file: string) => {
    await fs.write(
      `${A}/prompt`,
      `!echo first; setsid sh -c 'echo $$ >${file}.new; mv ${file}.new ${file}; sleep 1000'`,
    );
    await until(() => existsSync(join(cwd, file)));
  };
  await begin("one");
  await until(async () => (await fs.read(`${A}/chat`)).endsWith(":: first\n"));
  expect(agent().interrupt("test")).toBe(true);
  await until(async () => (await fs.read(`${A}/chat`)).endsWith(":: first\n:: stopped\n"));
  expect(alive("one")).toBe(false);
  expect(agent().interrupt("test")).toBe(false);
  await begin("two");
  await fs.rdwr(`${A}/ctl`, "kill");
  expect(alive("two")).toBe(false);
});

test("!cmd in a directory that is gone names the directory", async () => {
  const { fs, A, cwd, until } = await startAgent();
  rmSync(cwd, { recursive: true });
  await fs.write(`${A}/prompt`, "!true");
  await until(async () => (await fs.read(`${A}/log`)).includes("can not be started"));
  expect(await fs.read(`${A}/chat`)).toBe(
    `user: !true\n:: can not be started: !: cwd ${JSON.stringify(cwd)} does not exist\n`,
  );
});

test("!cmd has limits: output, and how many run at once", async () => {
  const { fs, A, until } = await startAgent();
  await fs.write(`${A}/prompt`, "!head -c 3000000 /dev/zero | tr '\\0' 'x' | fold -w 100");
  const raw = () => fs.read(`${A}/log`);
  await until(async () => (await raw()).match(/\(cut: the first 1048576 of 30[23]\d{4} bytes\)/) !== null);
  for (let i = 0; i < 4; i++) await fs.write(`${A}/prompt`, "!sleep 1000");
  await expect(fs.write(`${A}/prompt`, "!sleep 1000")).rejects.toThrow("prompt: 4 commands run already");
  await fs.rdwr(`${A}/ctl`, "stop");
  await until(async () => (await raw()).match(/\nstopped\n/g)?.length === 4);
});
