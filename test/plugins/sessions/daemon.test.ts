/** Persistence against the built daemon: kills, full disks, older files. */
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { type Client, connect } from "#core/client";
import { call, text } from "../../fakes/openai.ts";
import { daemon, processesOf } from "../../soak/daemon.ts";
import { A, build, home, idle, model, read, savedSession, start, until } from "./built.ts";

vi.setConfig({ testTimeout: 120_000 });

beforeAll(build, 60_000);

async function makeAgent(client: Client, cwd: string): Promise<void> {
  await client.rdwr("session/new", `name=s1\ncwd=${cwd}`);
  await client.wstat(`session/s1/agent/${(await read(client, "session/idx")).split("\t")[5]}`, { name: "a1" });
}

test("H-034: a session file that was cut short by hand is listed as damaged and kept; the others work", async () => {
  const fake = await model();
  const at = home(fake.env);
  mkdirSync(at.sessions, { recursive: true });
  savedSession(at.sessions, "s1", 10_000, at.work);
  savedSession(at.sessions, "s2", 10_000, at.work);
  const [bad] = readdirSync(at.sessions).filter((file) =>
    readFileSync(join(at.sessions, file), "utf8").includes('"s2"'),
  );
  truncateSync(join(at.sessions, bad as string), 5_000);
  const { client } = await start(at);
  expect(await read(client, "session/idx")).toMatch(/^s1\tidle\t.*\ns2\tdamaged\t/);
  fake.reply(text("well"));
  await client.write(`${A}/prompt`, "go on");
  await idle(client);
  expect(await read(client, `${A}/log`)).toContain("\nwell\n");
  expect(readdirSync(at.sessions).filter((file) => file.startsWith(`${bad}.damaged-`))).toHaveLength(1);
});

/** A small file system of its own; undefined where this user may not mount one. */
function smallDisk(dir: string): boolean {
  mkdirSync(dir, { recursive: true });
  if (spawnSync("mount", ["-t", "tmpfs", "-o", "size=1m,mode=0700", "tmpfs", dir]).status !== 0) return false;
  onTestFinished(() => void spawnSync("umount", ["-l", dir]));
  return true;
}

test("H-035: on a full disk a turn goes on in memory, an event names the disk, and the next save has it all", async ({
  skip,
}) => {
  const fake = await model();
  const at = home(fake.env);
  if (!smallDisk(at.sessions)) return skip("no right to mount a tmpfs: the full disk is not tested");
  const first = await start(at);
  await makeAgent(first.client, at.work);
  fake.reply(text("one"));
  await first.client.write(`${A}/prompt`, "first");
  await idle(first.client);
  const [file = ""] = readdirSync(at.sessions).filter((name) => name.endsWith(".json"));
  const before = readFileSync(join(at.sessions, file), "utf8");
  const events = await first.client.open("eventwait");
  const told = (async () => {
    for (;;) {
      const lines = (await events.read(undefined, 0)).toString();
      if (lines.includes("no space left")) return lines;
    }
  })();
  const fill = join(at.sessions, "fill");
  spawnSync("dd", ["if=/dev/zero", `of=${fill}`, "bs=4096"]);

  fake.reply(call("shell", { command: "echo $((6 * 7))" }));
  fake.reply(text("it is 42"));
  await first.client.write(`${A}/prompt`, "second");
  await idle(first.client);
  expect(await read(first.client, `${A}/context`)).toContain("it is 42");
  expect(await told).toMatch(new RegExp(`^E session/s1 .*no space left on ${at.sessions}$`, "m"));
  expect(readFileSync(join(at.sessions, file), "utf8")).toBe(before);
  expect(readdirSync(at.sessions).filter((name) => name.endsWith(".tmp"))).toEqual([]);

  rmSync(fill);
  fake.reply(text("three"));
  await first.client.write(`${A}/prompt`, "third");
  await idle(first.client);
  await first.kill();
  const second = await start(at);
  const context = await read(second.client, `${A}/context`);
  for (const part of ["first", "one", "second", '"content":"42', "it is 42", "third", "three"])
    expect(context).toContain(part);
  expect(fake.complaints).toEqual([]);
});

test("H-036: a second daemon on the same sessions refuses to start and names the first; kill -9 frees them", async () => {
  const fake = await model();
  const at = home(fake.env);
  const first = await start(at);
  await makeAgent(first.client, at.work);
  const elsewhere = ["--listen", `unix!${join(at.dir, "other")}`];
  await expect(daemon(at, elsewhere)).rejects.toThrow(`sessions is in use by process ${first.pid}`);
  expect(await read(first.client, "session/idx")).toContain("s1\tidle\t");
  await first.kill();
  const second = await start(at);
  expect(await read(second.client, "session/idx")).toContain("s1\tidle\t");
});

test("H-037: a resumed session works in its own directory, with all its settings", async () => {
  const fake = await model();
  const at = home(fake.env);
  const first = await start(at);
  await makeAgent(first.client, at.work);
  await first.client.rdwr(`${A}/ctl`, "model fake-2\ntool_unload file_write");
  await first.client.write(`${A}/plan`, "- [ ] step\n");
  await first.client.write(`${A}/cfg`, "temperature=0.5\n");
  await first.client.write("session/s1/env", "COLOUR=red\n");
  fake.reply(text("hello"));
  await first.client.write(`${A}/prompt`, "hi");
  await idle(first.client);
  const files = ["cfg", "tools", "plan", "stats", "log", "context", "systemprompt", "prompt"];
  const all = async (client: Client) => Promise.all(files.map((file) => read(client, `${A}/${file}`)));
  const before = await all(first.client);
  const idx = await read(first.client, "session/idx");
  expect((await first.term()).code).toBe(0);

  const second = await start(at);
  expect(await read(second.client, "session/idx")).toBe(idx);
  expect(await all(second.client)).toEqual(before);
  fake.reply(call("shell", { command: "pwd; echo $COLOUR" }));
  fake.reply(text("there"));
  await second.client.write(`${A}/prompt`, "where");
  await idle(second.client);
  const { body } = fake.requests.at(-1) ?? {};
  expect(body.messages.at(-1).content).toMatch(new RegExp(`^${at.work}\nred(\n|$)`));
  expect(body).toMatchObject({ model: "fake-2", temperature: 0.5 });
});

test("H-038: where the saved directory is gone calls say so, and work again after cwd", async () => {
  const fake = await model();
  const at = home(fake.env);
  const gone = join(at.dir, "p1");
  mkdirSync(gone);
  const first = await start(at);
  await makeAgent(first.client, gone);
  fake.reply(text("hello"));
  await first.client.write(`${A}/prompt`, "hi");
  await idle(first.client);
  await first.term();
  rmSync(gone, { recursive: true });

  const { client } = await start(at);
  expect(await read(client, `${A}/log`)).toContain("\nhello\n");
  const pwd = async () => {
    fake.reply(call("shell", { command: "pwd" }));
    fake.reply(text("done"));
    await client.write(`${A}/prompt`, "where");
    await idle(client);
    return fake.requests.at(-1)?.body.messages.at(-1).content;
  };
  const failed = await pwd();
  expect(failed).toContain(gone);
  expect(failed).not.toContain("ENOENT");
  await client.rdwr(`${A}/ctl`, `cwd ${at.work}`);
  expect((await pwd()).split("\n")[0]).toBe(at.work);
});

test("H-040: an older or foreign file neither stops the daemon nor is lost", async () => {
  const fake = await model();
  const at = home(fake.env);
  const first = await start(at);
  await makeAgent(first.client, at.work);
  fake.reply(text("hello"));
  await first.client.write(`${A}/prompt`, "hi");
  await idle(first.client);
  await first.term();
  const [file = ""] = readdirSync(at.sessions).filter((name) => name.endsWith(".json"));
  const saved = JSON.parse(readFileSync(join(at.sessions, file), "utf8"));
  const [agent] = saved.agents;
  for (const key of ["usage", "plan", "name"]) delete agent[key];
  Object.assign(saved, { later: 1, agents: [{ ...agent, more: { than: "us" } }] });
  writeFileSync(join(at.sessions, file), JSON.stringify(saved));
  writeFileSync(join(at.sessions, "notes.json"), "[1, 2]");
  writeFileSync(join(at.sessions, "empty.json"), "");

  const second = await start(at);
  const name = agent.id.slice(0, 8);
  fake.reply(text("again"));
  await second.client.write(`session/s1/agent/${name}/prompt`, "once more");
  await idle(second.client, `session/s1/agent/${name}`);
  for (const other of ["notes.json", "empty.json"]) expect(second.said()).toContain(`file ${other} is passed over`);
  await second.term();
  const kept = JSON.parse(readFileSync(join(at.sessions, file), "utf8"));
  expect(kept).toMatchObject({ version: 1, later: 1, agents: [{ name, more: { than: "us" } }] });
  expect(readdirSync(at.sessions)).toEqual(expect.arrayContaining(["notes.json", "empty.json"]));
});

test("a session is renamed and killed while its agent runs and files are open", async () => {
  const fake = await model();
  const at = home(fake.env);
  const { client } = await start(at);
  await makeAgent(client, at.work);
  await client.rdwr("session/new", "name=other");
  fake.reply(call("shell", { command: "echo begun; sleep 60" }));
  const chat = (async () => {
    let all = "";
    for await (const bytes of client.stream(`${A}/chat`)) all += bytes.toString();
    return all;
  })();
  const state = await client.open(`${A}/statewait`, 2);
  await client.write(`${A}/prompt`, "go");
  await until(async () => (await read(client, `${A}/log`)).includes("begun"));

  await expect(client.wstat("session/s1", { name: "other" })).rejects.toThrow(/in use|exists/);
  await client.wstat("session/s1", { name: "s2" });
  await expect(read(client, `${A}/id`)).rejects.toThrow(/not found/);
  const B = A.replace("s1", "s2");
  await state.write("thinking", 0);
  expect((await state.read(undefined, 0)).toString()).toBe("calling: shell\n");
  const queued = client.write(`${B}/prompt`, "later");
  await queued;
  expect(await read(client, "session/idx")).toMatch(/^s2\tcalling: shell\t/m);

  await client.rdwr("session/s2/ctl", "kill");
  expect(await chat).toContain("begun");
  await expect(read(client, `${B}/id`)).rejects.toThrow(/not found/);
  expect(readdirSync(at.sessions).filter((name) => !name.startsWith("lock"))).toEqual([expect.stringMatching(/json$/)]);
  await until(async () => processesOf(at).length <= 1);
});

test("save writes snapshot and transcript and names both; variables reach the next call", async () => {
  const fake = await model();
  const at = home(fake.env);
  const { client } = await start(at);
  await makeAgent(client, at.work);
  for (const colour of ["red", "blue"]) {
    await client.write("session/s1/env", `COLOUR=${colour}\n`);
    fake.reply(call("shell", { command: "echo it is $COLOUR" }));
    fake.reply(text("I see."));
    await client.write(`${A}/prompt`, `what is it now`);
    await idle(client);
  }
  const reply = (await client.rdwr("session/s1/ctl", "save")).toString();
  const [, snapshot = "", transcript = ""] = /^snapshot=(.*)\ntranscript=(.*)\n$/.exec(reply) ?? [];
  expect(JSON.parse(readFileSync(snapshot, "utf8")).agents[0].messages).toHaveLength(8);
  expect(transcript).toMatch(new RegExp(`^${at.dir}/.config/ollie/transcript/\\d{8}T\\d{6}-chat.md$`));
  const said = readFileSync(transcript, "utf8");
  for (const part of ["what is it now", "it is red", "it is blue", "I see."]) expect(said).toContain(part);
});

test("a daemon whose standard error nobody reads any more goes on", async () => {
  const at = home({ OLLIE_BACKEND: "script" });
  const child = spawn(process.execPath, [join(process.cwd(), "dist/core/bin/olliesrv.js"), "fgstart"], {
    ...{ cwd: at.dir, env: at.env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  await new Promise<void>((resolve) =>
    child.stderr.on("data", (text) => String(text).includes("serving at") && resolve()),
  );
  child.stderr.destroy();
  const client = await connect({ unix: join(at.dir, "ns", "ollie") });
  onTestFinished(() => client.close());
  await makeAgent(client, at.work);
  // each is a line of the log
  for (let n = 0; n < 3; n++) await expect(client.write(`${A}/cfg`, "nonsense=1")).rejects.toThrow("unknown key");
  expect(await read(client, "session/idx")).toMatch(/^s1\tidle\t/);
});
