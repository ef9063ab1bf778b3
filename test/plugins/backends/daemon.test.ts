/** Every wire end to end: the built daemon over its socket, real tools, and a fake that speaks the provider's protocol. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { build } from "../../dist.ts";
import { daemon, leftovers, place } from "../../soak/daemon.ts";
import type { ContractFake } from "./contract.ts";
import { chatContract, messagesContract } from "./contract-fakes.ts";
import { geminiContract, kiroContract, ollamaContract } from "./contract-wires.ts";

beforeAll(build, 60_000);

interface Wire {
  fake(): Promise<ContractFake & { url: string }>;
  env(url: string): Record<string, string>;
}

const key = "tid=end-to-end-7c1d";
const kiro = async () => Object.assign(await kiroContract(), { token: key });

const wires: Record<string, Wire> = {
  anthropic: { fake: messagesContract, env: (url) => ({ OLLIE_ANTHROPIC_URL: url, OLLIE_ANTHROPIC_KEY: key }) },
  openai: { fake: chatContract, env: (url) => ({ OLLIE_OPENAI_URL: url, OLLIE_OPENAI_KEY: key }) },
  openrouter: { fake: chatContract, env: (url) => ({ OLLIE_OPENROUTER_URL: url, OLLIE_OPENROUTER_KEY: key }) },
  copilot: { fake: chatContract, env: (url) => ({ OLLIE_COPILOT_URL: `${url}/v1`, OLLIE_COPILOT_TOKEN: key }) },
  gemini: { fake: geminiContract, env: (url) => ({ OLLIE_GEMINI_URL: url, OLLIE_GEMINI_KEY: key }) },
  ollama: { fake: ollamaContract, env: (url) => ({ OLLIE_OLLAMA_URL: url, OLLIE_OLLAMA_KEY: key }) },
  kiro: { fake: kiro, env: (url) => ({ OLLIE_KIRO_URL: url, OLLIE_KIRO_TOKEN: key }) },
};

const A = "session/s1/agent/a1";

async function start(wire: Wire, backend: string) {
  const fake = await wire.fake();
  const at = place({ ...wire.env(fake.url), OLLIE_BACKEND: backend, OLLIE_MODEL: "fake-1" });
  const running = await daemon(at);
  const { client } = running;
  const read = async (path: string) => (await client.read(path)).toString();
  await client.rdwr("session/new", `name=s1\ncwd=${at.work}`);
  await client.wstat(`session/s1/agent/${(await read("session/idx")).split("\t")[5]}`, { name: "a1" });
  const idle = async () => {
    for (let n = 0; (await read(`${A}/state`)) !== "idle\n"; n++) {
      if (n === 3_000) throw new Error("the agent did not come to rest");
      await sleep(10);
    }
  };
  /** A turn to its end: what it added to the log. */
  const turn = async (prompt: string) => {
    const { length } = await read(`${A}/log`);
    await client.write(`${A}/prompt`, prompt);
    await idle();
    return (await read(`${A}/log`)).slice(length);
  };
  const end = async () => {
    await running.kill();
    await fake.close();
    for (const pid of await leftovers(at)) process.kill(pid, "SIGKILL");
    at.remove();
  };
  return { fake, at, client, read, idle, turn, end };
}

const shell = (command: string) => ({ name: "shell", args: { command } });

describe.each(Object.entries(wires))("%s through the daemon", (backend, wire) => {
  let rig: Awaited<ReturnType<typeof start>>;
  /** Requests of earlier tests: all of them share a session. */
  let before: number;
  const mine = () => rig.fake.requests.slice(before);

  beforeAll(async () => {
    rig = await start(wire, backend);
  }, 60_000);
  beforeEach(() => {
    before = rig.fake.requests.length;
  });
  afterAll(() => rig?.end(), 60_000);

  test("H-001, H-002, H-004, H-005: calls run with what was said, each has its result, broken ones are told", async () => {
    const { fake, at, turn } = rig;
    fake.say({ text: "日本語 🌍", calls: [shell("printf é🌍 > u.txt"), shell("echo two")], oneByte: true });
    fake.say({ calls: [{ name: "shell", args: "" }] });
    fake.say({ calls: [{ name: "shell", args: '{"command":"touch ran",}<|endoftext|>' }] });
    fake.say({ text: "done" });
    const log = await turn("begin");
    expect(fake.complaints).toEqual([]);
    expect(mine()).toHaveLength(4);
    expect(readFileSync(join(at.work, "u.txt"), "utf8")).toBe("é🌍");
    expect(readdirSync(at.work)).toEqual(["u.txt"]);
    expect(log).toContain("日本語 🌍");
    expect(log).not.toContain("\ufffd");
    expect(mine()[2]?.raw).toContain("argument");
    expect(mine()[3]?.raw).toContain("not run");
  });

  // The protocol of Kiro tells no reason for the end of a reply.
  test.skipIf(backend === "kiro")("H-011: a call that the output limit cut writes no file", async () => {
    const { fake, at, turn } = rig;
    writeFileSync(join(at.work, "f.txt"), "1\n2\n3\n");
    fake.say({ calls: [{ name: "shell", args: { command: "echo one >f.txt" } }], stop: "length" });
    fake.say({ text: "well" });
    await turn("write");
    expect(readFileSync(join(at.work, "f.txt"), "utf8")).toBe("1\n2\n3\n");
    expect(mine()[1]?.raw).toContain("output limit");
    expect(fake.complaints).toEqual([]);
  });

  test("H-014, H-015, H-016, H-109: what broke is tried again, nothing of it is run or kept; a list that hangs holds nobody", async () => {
    const { fake, at, turn, read, client } = rig;
    fake.models("stall");
    await client.rdwr("ctl", "invalidate models");
    const models = read("models");
    fake.say({ text: "Hel", calls: [shell("touch ran")], fault: "error" });
    fake.fail(429, { message: "slow down" }, { "retry-after-ms": "30" });
    fake.say({ text: "whole" });
    expect(await turn("go")).toMatch(/[Oo]verloaded[\s\S]*slow down[\s\S]*whole/);
    fake.say({ text: "I will now", calls: [shell("touch ran")], fault: "reset" });
    fake.say({ text: "next" });
    await turn("again");
    expect(mine()).toHaveLength(5);
    expect(mine()[4]?.raw).toContain("whole");
    expect(mine()[4]?.raw).not.toMatch(/Hel"|I will now/);
    expect(readdirSync(at.work)).not.toContain("ran");
    expect(await models).toMatch(new RegExp(`^${backend}: .`, "m"));
  });

  test("H-016, H-017: a wait that is too long and a quota that is gone end the turn at once", async () => {
    const { fake, turn } = rig;
    fake.fail(429, { message: "slow down" }, { "retry-after": "99999" });
    expect(await turn("one")).toMatch(/slow down.*99999 s/);
    fake.fail(402, { message: "no credit is left, resets at noon" });
    expect(await turn("two")).toContain("no credit is left, resets at noon");
    expect(mine()).toHaveLength(2);
  });

  test("H-018, H-019: a stop ends a pause and a silent stream, and closes the connection", async () => {
    const { fake, client, idle, turn, read } = rig;
    fake.fail(429, { message: "slow down" }, { "retry-after": "60" });
    await client.write(`${A}/prompt`, "wait");
    while ((await read(`${A}/state`)) !== "limitretry\n") await sleep(10);
    await client.rdwr(`${A}/ctl`, "stop");
    await idle();
    expect(await read(`${A}/log`)).toMatch(
      /in 60 s: [^\n]*\n\[\[\[end\]\]\]\n\[\[\[info\]\]\]\nstopped\n\[\[\[end\]\]\]\n$/,
    );
    fake.say({ text: "\n\n", fault: "stall" });
    await client.write(`${A}/prompt`, "silence");
    const silent = await fake.seen(before + 2);
    await client.rdwr(`${A}/ctl`, "stop");
    await idle();
    expect(await silent.closed).toBe(true);
    fake.say({ text: "here" });
    expect(await turn("go on")).toContain("here");
    expect(mine()).toHaveLength(3);
    expect(fake.complaints).toEqual([]);
  });
});
