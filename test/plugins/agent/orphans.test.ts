/** Agents that a tool call has made, against the built daemon: what a stop and a kill of their creator leave. */
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test, vi } from "vitest";
import { call, text } from "../../fakes/openai.ts";
import { processesOf } from "../../soak/daemon.ts";
import { build, home, idle, model, read, start, until } from "../sessions/built.ts";

vi.setConfig({ testTimeout: 120_000 });

beforeAll(build, 60_000);

const A = "session/s1/agent/a1";
const C = "session/s1/agent/c1";

/** What a model does that has its work done by another agent, and waits for it. */
const delegate = [
  `ollie="${process.execPath} ./bin/ollie-9p.cjs"`,
  '$ollie rdwr session/s1/agent/new "name=c1 cwd=$PWD"',
  "$ollie write session/s1/agent/c1/prompt 'sleep well'",
  '$ollie rdwr session/new "name=s2 cwd=$PWD"',
  "$ollie wait session/s1/agent/c1 idle",
].join("\n");

async function parentAndChild() {
  const fake = await model();
  const at = home(fake.env);
  cpSync("dist/bin", join(at.work, "bin"), { recursive: true });
  const daemon = await start(at);
  const { client } = daemon;
  await client.rdwr("session/new", "name=s1");
  await client.rdwr("session/s1/agent/new", `name=a1\ncwd=${at.work}`);
  fake.always(({ body }) => {
    const last = body.messages.at(-1);
    if (last.role !== "user") return [text("done")];
    return [call("shell", { command: last.content === "sleep well" ? "echo asleep; sleep 1234" : delegate })];
  });
  await client.write(`${A}/prompt`, "delegate");
  await until(async () => (await read(client, `${C}/log`).catch(() => "")).includes("\nasleep"));
  return { ...daemon, at };
}

test("H-087: a stop of the creator ends the child that its call made and waits for, and all processes of both", async () => {
  const { client, at } = await parentAndChild();
  const before = processesOf(at).length;
  await client.rdwr(`${A}/ctl`, "stop");
  await idle(client, A);
  await idle(client, C);
  await until(async () => processesOf(at).length <= before - 2);
  expect(await read(client, `${C}/log`)).toContain("stopped");
});

test("a kill of the creator leaves no child, no session of its own and no process", async () => {
  const { client, at } = await parentAndChild();
  await client.remove(A);
  expect((await client.ls("session/s1/agent")).map(({ name }) => name)).toEqual(["new"]);
  expect(await read(client, "session/idx")).toMatch(/^s1\t\t[^\n]*\n$/);
  await until(async () => processesOf(at).every((pid) => !commandOf(pid).includes("1234")));
});

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1");
  } catch {
    return "";
  }
}
