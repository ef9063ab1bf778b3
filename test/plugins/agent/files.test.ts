import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Principal } from "#core";
import { agentSpawn } from "#plugins/agent";
import { Sessions } from "#plugins/sessions";
import { start, startAgent, tempDir } from "./kit.ts";
import { call, done, hang, say, text } from "./model.ts";

test("agent/new says its keys, and what is wrong, in one sentence, and makes nothing half", async () => {
  const { fs, cwd } = await startAgent();
  const file = join(cwd, "file");
  writeFileSync(file, "");
  expect(await fs.read("/session/s1/agent/new")).toBe("name=\ncwd=\nbackend=\nmodel=\nagent=\n");
  const cases: [string, string][] = [
    ["modle=x", 'agent/new: unknown key "modle" (keys: name cwd backend model agent)'],
    ["name=x", "agent/new: cwd is missing"],
    ["cwd=/nowhere/at/all", 'agent/new: cwd "/nowhere/at/all" does not exist'],
    [`cwd=${file}`, "is not a directory"],
    ["cwd=relative", "must start with / or ~"],
    [`cwd=${cwd} backend=nope`, 'unknown backend "nope" (backends: fake)'],
    [`cwd=${cwd} agent=nope`, 'unknown agent "nope" (agents: default other)'],
    [`cwd=${cwd} name=a1`, 'agent/new: name "a1" is taken'],
    [`cwd=${cwd} name=new`, "is reserved"],
    [`cwd=${cwd} name=a/b`, 'holds "/"'],
  ];
  for (const [body, why] of cases) await expect(fs.rdwr("/session/s1/agent/new", body), body).rejects.toThrow(why);
  expect((await fs.ls("/session/s1/agent")).sort()).toEqual(["a1", "new"]);
});

test("agent/new takes several lines with blanks in values, resolves links, and names by the UUID", async () => {
  const { fs } = await startAgent();
  const dir = join(tempDir(), "a b");
  mkdirSync(dir);
  symlinkSync(dir, `${dir} link`);
  const reply = await fs.rdwr("/session/s1/agent/new", `cwd=${dir} link\nmodel=big\nagent=other\n`);
  const [, id = "", name = ""] = /^id=([0-9a-f-]{36})\nname=(.*)\n$/.exec(reply) ?? [];
  expect(id.startsWith(`${name}-`)).toBe(true);
  const B = `/session/s1/agent/${id}`;
  expect(await fs.read(`${B}/name`)).toBe(`${name}\n`);
  expect(await fs.read(`${B}/systemprompt`)).toBe("You are another.");
  expect(await fs.read(`${B}/cfg`)).toMatch(
    new RegExp(`^state=idle\nbackend=fake\nmodel=big\nagent=other\ncwd=${dir}\nmaxTokens=\n(.*\n)*temperature=0.5\n`),
  );
});

test("keys of the config without effect are told: in chat, in an event and in the log", async () => {
  const { fs, A, chat, lines, logged, until } = await startAgent({
    config: { warning: 'key "modle" has no effect (f)' },
  });
  const text = 'config default: key "modle" has no effect (f)';
  expect(await chat()).toContain(`:: ${text}\n`);
  const told = () => lines.filter((line) => line === `E session/s1/agent/a1 ${text}`).length;
  await until(() => told() === 1);
  expect(logged).toEqual([text]);
  await fs.rdwr(`${A}/ctl`, "agent other");
  await fs.rdwr(`${A}/ctl`, "agent default");
  await until(() => told() === 2);
});

test("two agents with one name at the same instant: one is made", async () => {
  const { fs, cwd } = await startAgent();
  const made = await Promise.allSettled([1, 2, 3].map(() => fs.rdwr("/session/s1/agent/new", `name=twin cwd=${cwd}`)));
  expect(made.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
});

test("session/new with cwd makes the first agent too, or nothing", async () => {
  const { fs, cwd } = await start();
  await expect(fs.rdwr("/session/new", "name=s2 cwd=/nowhere/at/all")).rejects.toThrow("does not exist");
  expect((await fs.ls("/session")).sort()).toEqual(["idx", "new"]);
  expect(await fs.rdwr("/session/new", `name=s2 cwd=${cwd}`)).toMatch(
    /^id=.*\nname=s2\nagent.id=[0-9a-f-]{36}\nagent.name=[0-9a-f]{8}\n$/,
  );
  expect(await fs.read("/session/idx")).toMatch(new RegExp(`^s2\tidle\t${cwd}\tfake\tsmall\t`));
});

test("a blocked agentSpawn refuses the agent; its injection comes before the first prompt", async () => {
  let block = true;
  const rig = await start({
    hooks: (api) =>
      api.on(agentSpawn, (draft) => {
        if (block) return { block: "no room" };
        draft.inject("project facts");
        return undefined;
      }),
  });
  const { fs, model, A, cwd, idle } = rig;
  await fs.rdwr("/session/new", "name=s1");
  await expect(fs.rdwr("/session/s1/agent/new", `name=a1 cwd=${cwd}`)).rejects.toThrow("agent/new: no room");
  expect(await fs.ls("/session/s1/agent")).toEqual(["new"]);
  expect(readdirSync(rig.dir).filter((name) => name.endsWith(".chat"))).toEqual([]);
  block = false;
  await fs.rdwr("/session/s1/agent/new", `name=a1 cwd=${cwd}`);
  model.replies = [say("ok"), say("ok")];
  await fs.write(`${A}/prompt`, "one");
  await idle();
  await fs.write(`${A}/prompt`, "two");
  await idle();
  expect(model.requests[1]?.messages.map(({ content }) => content).slice(1)).toEqual([
    "project facts",
    "one",
    "ok",
    "two",
  ]);
});

test("H-099: statewait returns at once where the state differs from the one written, and misses nothing", async () => {
  const { kernel, fs, A, model, agent, idle } = await startAgent();
  for (let i = 0; i < 50; i++) {
    model.replies = [say("x")];
    await fs.write(`${A}/prompt`, "go");
    let seen = (await fs.read(`${A}/state`)).trim();
    while (seen !== "idle") seen = (await kernel.fs.rdwr(`${A}/statewait`, seen)).trim();
    await idle();
  }
  expect(agent().state).toBe("idle");
});

test("H-099: an agent that never changed its state answers a client that believes another one", async () => {
  const { fs, A } = await startAgent();
  expect(await fs.rdwr(`${A}/statewait`, "thinking")).toBe("idle\n");
});

test("statewait gives each change after its open, one an answer", async () => {
  const { fs, A, model, idle } = await startAgent();
  model.replies = [[call("look"), done()], say("x")];
  const states: string[] = [];
  const reading = (async () => {
    for await (const state of fs.stream(`${A}/statewait`)) states.push(state);
  })();
  await fs.write(`${A}/prompt`, "go");
  await idle();
  await reading;
  expect(states).toEqual(["thinking\n"]);
});

test("waitChange misses no change, however short", async () => {
  const { agent, fs, A, model, idle } = await startAgent();
  for (let i = 0; i < 50; i++) {
    model.replies = [say("x")];
    const change = agent().waitChange("state", "idle", AbortSignal.timeout(5000));
    await fs.write(`${A}/prompt`, "go");
    expect(await change).toBe("thinking");
    await idle();
  }
  const abort = new AbortController();
  const change = agent().waitChange("usage", "0 in, 0 out, 50 requests", abort.signal);
  abort.abort();
  expect(await change).toBe("");
});

test("ctl lists its verbs, refuses unknown ones, and answers queries", async () => {
  const { fs, A, cwd } = await startAgent();
  const help = await fs.rdwr(`${A}/ctl`, "help");
  for (const verb of "stop pause resume compact clear inject queue agent model models tools tool_load tool_unload cwd name backend systemprompt kill help".split(
    " ",
  ))
    expect(help).toMatch(new RegExp(`^${verb}\\b`, "m"));
  expect(await fs.read(`${A}/ctl`)).toBe(help);
  await expect(fs.rdwr(`${A}/ctl`, "halt")).rejects.toThrow(/^ctl: unknown verb "halt" \(verbs: stop pause .*help\)$/);
  await expect(fs.rdwr(`${A}/ctl`, "model big\nhalt")).rejects.toThrow("unknown verb");
  expect(await fs.rdwr(`${A}/ctl`, "model")).toBe("small\n");
  expect(await fs.rdwr(`${A}/ctl`, "model big\nmodel\nmodels")).toBe("big\n* big\n  small\n");
  expect(await fs.rdwr(`${A}/ctl`, "cwd\nname\nagent\nbackend\nsystemprompt")).toBe(
    `${cwd}\na1\ndefault\nfake\nYou are a test.\n`,
  );
  expect(await fs.rdwr(`${A}/ctl`, "backend fake")).toBe("fake small\n");
  await expect(fs.rdwr(`${A}/ctl`, "backend nope")).rejects.toThrow("unknown backend");
  expect(await fs.rdwr(`${A}/ctl`, "backend")).toBe("fake\n");
});

test("tools are listed, loaded and unloaded; one unknown name loads none", async () => {
  const bad = [{ file: "/tools/broken.meta", reason: "args must be an object" }];
  const { fs, A } = await startAgent({ config: { autoLoad: ["look"], disallowTools: ["touch"] }, bad });
  expect(await fs.read(`${A}/tools`)).toBe("look\n");
  await fs.write(`${A}/tools`, "shell\n");
  expect(await fs.rdwr(`${A}/ctl`, "tools")).toBe("look\nshell\n");
  await fs.rdwr(`${A}/ctl`, "tool_unload look");
  await expect(fs.rdwr(`${A}/ctl`, "tool_load look nope")).rejects.toThrow(
    'tool_load: unknown tool "nope" (tools: look touch shell)',
  );
  await expect(fs.write(`${A}/tools`, "broken")).rejects.toThrow(
    "tools: broken can not be used: args must be an object",
  );
  await expect(fs.write(`${A}/tools`, "touch")).rejects.toThrow("tools: tool touch is not allowed by config default");
  expect(await fs.read(`${A}/tools`)).toBe("shell\n");
});

test("cfg merges, reports bad keys and values, and changes all or nothing", async () => {
  const { fs, A } = await startAgent();
  await fs.write(`${A}/cfg`, 'temperature=0.2\nmodel=big\nstop=["a","b"]\nincludeReasoning=true\n');
  const cfg = await fs.read(`${A}/cfg`);
  expect(cfg).toMatch(/model=big\n[\s\S]*temperature=0.2\n[\s\S]*includeReasoning=true\n[\s\S]*stop=\["a","b"\]\n/);
  await fs.write(`${A}/cfg`, cfg);
  expect(await fs.read(`${A}/cfg`)).toBe(cfg);
  for (const [body, why] of [
    ["model=small\ntemprature=1", 'cfg: unknown key "temprature" (keys: backend model agent cwd maxTokens'],
    ["model=small\ntemperature=warm", 'cfg: temperature must be a number, not "warm"'],
    ["maxTokens=-1", "cfg: maxTokens must be a whole number"],
    ["stop=a", "cfg: stop must be a JSON array of strings"],
    ["includeReasoning=yes", "must be true or false"],
    ["cwd=/nowhere/at/all", "does not exist"],
    ["nonsense", 'cfg: unknown key "nonsense"'],
  ] as const)
    await expect(fs.write(`${A}/cfg`, body), body).rejects.toThrow(why);
  expect(await fs.read(`${A}/cfg`)).toBe(cfg);
  await fs.write(`${A}/cfg`, "temperature=\nagent=\n");
  expect(await fs.read(`${A}/cfg`)).toContain("temperature=\n");
});

test("while a turn runs, what would pull the rug is refused, and the rest works", async () => {
  const { fs, A, model, until } = await startAgent();
  model.replies = [[text("x"), hang()]];
  await fs.write(`${A}/prompt`, "go");
  await until(() => model.requests.length === 1);
  for (const verb of ["clear", "compact", "agent other", "backend fake"])
    await expect(fs.rdwr(`${A}/ctl`, verb), verb).rejects.toThrow(/agent is running \(stop it first\)|no compaction/);
  await expect(fs.write(`${A}/cfg`, "temperature=1")).rejects.toThrow("agent is running");
  await fs.rdwr(`${A}/ctl`, "model big\nagent\nname b1\ntool_unload shell");
  expect(await fs.read("/session/s1/agent/b1/state")).toBe("thinking\n");
});

test("clear drops the history and nothing else; agent changes what the agent is", async () => {
  const { fs, A, model, idle } = await startAgent();
  model.replies = [say("one"), say("two")];
  await fs.write(`${A}/prompt`, "first");
  await idle();
  const id = await fs.read(`${A}/id`);
  await fs.rdwr(`${A}/ctl`, "clear");
  expect(await fs.read(`${A}/context`)).toBe('{"role":"system","content":"You are a test."}\n');
  expect(await fs.read(`${A}/chat`)).toBe("user: first\nassistant: one\n:: history is cleared\n");
  await fs.rdwr(`${A}/ctl`, "agent other");
  await fs.write(`${A}/prompt`, "second");
  await idle();
  expect(model.requests[1]?.messages.map(({ content }) => content)).toEqual(["You are another.", "second"]);
  expect(await fs.read(`${A}/id`)).toBe(id);
});

test("a rename keeps open files, and the names in use are refused", async () => {
  const { fs, A, cwd, until, lines, model } = await startAgent();
  await fs.rdwr("/session/s1/agent/new", `name=a2 cwd=${cwd}`);
  let chat = "";
  const reading = (async () => {
    for await (const piece of fs.stream(`${A}/chat`)) chat += piece;
  })();
  await fs.write(`${A}/name`, "b1\n");
  model.replies = [say("hello")];
  await fs.write("/session/s1/agent/b1/prompt", "hi");
  await until(() => chat === "user: hi\nassistant: hello\n");
  await expect(fs.write("/session/s1/agent/b1/name", "a2")).rejects.toThrow('name: "a2" is taken');
  await fs.rename("/session/s1/agent/b1", "b2");
  await until(() => lines.includes("A rename session/s1/agent/b1 session/s1/agent/b2"));
  expect((await fs.ls("/session/s1/agent")).sort()).toEqual(["a2", "b2", "new"]);
  await fs.remove("/session/s1/agent/b2");
  await reading;
});

test("feed: a read waits until the text differs from what this open file saw", async () => {
  const { fs, A } = await startAgent();
  const read = fs.read(`${A}/feed`);
  await fs.write(`${A}/feed`, "news 1");
  expect(await read).toBe("news 1");
  expect(await fs.read(`${A}/feed`)).toBe("news 1");
});

test("agents may do what the table says", async () => {
  const { fs, A, kernel, agent, cwd, model } = await startAgent();
  model.replies = [say("x"), say("y")];
  const session = kernel.use(Sessions)?.get("s1")?.id ?? "";
  const as = (agent: string, of = session): typeof fs =>
    fs.as({ name: agent, groups: ["agent"], kind: "agent", agent, session: of } satisfies Principal);
  const self = as(agent().id);
  const made = await fs.rdwr("/session/s1/agent/new", `name=k cwd=${cwd}`);
  const kin = as(/id=(.*)/.exec(made)?.[1] ?? "");
  const other = as("22222222-2222-4222-8222-222222222222", "33333333-3333-4333-8333-333333333333");
  const denied = /permission denied/;
  expect(await self.read(`${A}/stats`)).toContain("state=idle");
  await self.write(`${A}/plan`, "- [ ] x");
  for (const file of ["prompt", "fifo", "inject", "feed", "cfg"])
    await expect(self.write(`${A}/${file}`, "x"), file).rejects.toThrow(denied);
  await self.rdwr(`${A}/ctl`, "tool_unload look");
  await expect(self.rdwr(`${A}/ctl`, "stop")).rejects.toThrow(denied);
  await expect(self.remove(A)).rejects.toThrow(denied);
  expect(await kin.read(`${A}/plan`)).toBe("- [ ] x");
  await kin.write(`${A}/prompt`, "from kin");
  await expect(kin.write(`${A}/plan`, "mine")).rejects.toThrow(denied);
  await expect(kin.read(`${A}/cfg`)).rejects.toThrow(denied);
  await expect(kin.rdwr(`${A}/ctl`, "stop")).rejects.toThrow(denied);
  expect(await other.read(`${A}/id`)).toBe(`${agent().id}\n`);
  await expect(other.read(`${A}/stats`)).rejects.toThrow(denied);
  await expect(other.write(`${A}/prompt`, "x")).rejects.toThrow(denied);
  await expect(other.rdwr("/session/s1/agent/new", `cwd=${cwd}`)).rejects.toThrow(denied);
  await kin.rdwr("/session/s1/agent/new", `name=child cwd=${cwd}`);
  await kin.rdwr("/session/s1/agent/child/ctl", "stop");
  await kin.remove("/session/s1/agent/child");
});
