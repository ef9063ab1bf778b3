/** The built daemon where no descriptor is left, or only a few: what needs one fails and says so, and nothing else ends. */
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, expect, test, vi } from "vitest";
import { call, text } from "../../fakes/openai.ts";
import { A, build, home, idle, model, read, start, until } from "../sessions/built.ts";

vi.setConfig({ testTimeout: 120_000 });

beforeAll(build, 60_000);

const limit = (pid: number, files: number): boolean =>
  spawnSync("prlimit", [`--pid=${pid}`, `--nofile=${files}:`]).status === 0;

test("a command, a prompt's command and a tool that can not be started for want of descriptors stop nothing else", async ({
  skip,
}) => {
  const fake = await model();
  const at = home(fake.env);
  const agents = join(at.dir, ".config/ollie/agents");
  mkdirSync(agents, { recursive: true });
  writeFileSync(join(agents, "rendered.json"), JSON.stringify({ prompt: ["echo You are rendered."] }));
  const { pid, client } = await start(at);
  await client.rdwr("session/new", "name=s1");
  await client.rdwr("session/s1/agent/new", `name=a1 cwd=${at.work}`);
  await sleep(1_200); // files of the session are closed by then
  const used = readdirSync(`/proc/${pid}/fd`).length;
  if (!limit(pid, 4096)) return skip("no program prlimit");
  for (let left = 0; left < 12; left++) {
    limit(pid, used + left);
    await client.write(`${A}/prompt`, `!echo said-${left}`).catch(() => {});
    await client.rdwr(`${A}/ctl`, "agent rendered").catch(() => {});
    fake.reply(call("shell", { command: "echo called" }));
    fake.reply(text("well"));
    await client.write(`${A}/prompt`, "go on");
    await sleep(300);
    await client.rdwr(`${A}/ctl`, "stop");
    await idle(client);
    expect(await read(client, "plugins/agent/status"), `${left} left`).toMatch(/running/);
  }
  limit(pid, 4096);
  await client.rdwr(`${A}/ctl`, "clear");
  await client.write(`${A}/prompt`, "!echo fine again");
  await until(async () => (await read(client, `${A}/log`)).includes("\nfine again\n"));
  // replies may be left over
  await until(async () => {
    fake.reply(call("shell", { command: "echo it was cal''led" }));
    fake.reply(text("the end"));
    await client.write(`${A}/prompt`, "go on");
    await idle(client);
    return (await read(client, `${A}/log`)).includes("\nit was called\n");
  });
});
