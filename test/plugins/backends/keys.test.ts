/** A key is planted in the built daemon, and then looked for in everything that it wrote, said or served. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { type Client, DMDIR } from "#core/client";
import { build } from "../../dist.ts";
import * as messages from "../../fakes/anthropic.ts";
import * as chat from "../../fakes/openai.ts";
import type { Fake } from "../../fakes/scripted.ts";
import { daemon, leftovers, place } from "../../soak/daemon.ts";
import type { ContractFake } from "./contract.ts";
import { chatContract } from "./contract-fakes.ts";
import { geminiContract, kiroContract, ollamaContract } from "./contract-wires.ts";

beforeAll(build, 60_000);

// Copilot takes a token of its own by what it begins with.
const key = "tid=zk-planted-8d2f5b7c31";
const A = "session/s1/agent/a1";

/** Files that block, or that a read changes. */
const waiting = new Set([
  "eventwait",
  "chat",
  "chat.raw",
  "statewait",
  "feed",
  "fifo",
  "complete",
  "generate",
  "route",
]);

/** All text that the tree serves, with the path in front. */
async function served(client: Client, path = ""): Promise<string> {
  let text = "";
  for (const { name, mode } of await client.ls(path)) {
    const below = path === "" ? name : `${path}/${name}`;
    if (mode & DMDIR) text += await served(client, below);
    else if (!waiting.has(name) && mode & 0o444) text += `== ${below}\n${await readable(client, below)}\n`;
  }
  return text;
}

async function readable(client: Client, path: string): Promise<string> {
  try {
    return (await client.read(path, { signal: AbortSignal.timeout(2_000) })).toString();
  } catch (error) {
    return String(error);
  }
}

/** All files below a folder. */
function stored(dir: string, without: string): [path: string, text: string][] {
  return readdirSync(dir, { withFileTypes: true }).flatMap((entry): [string, string][] => {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) return stored(path, without);
    return entry.isFile() && path !== without ? [[path, readFileSync(path, "latin1")]] : [];
  });
}

async function until(probe: () => Promise<boolean>): Promise<void> {
  for (let n = 0; n < 1500; n++) {
    if (await probe()) return;
    await sleep(10);
  }
  throw new Error(`waited in vain for ${probe}`);
}

interface Provider {
  url: string;
  readonly requests: readonly unknown[];
  close(): Promise<void>;
}

interface Wire {
  fake(): Promise<Provider>;
  env(url: string): Record<string, string>;
}

/** What is answered: a call of a tool that shows its environment, and errors that repeat the key where the wire lets them. */
function script(fake: Fake, say: { call: typeof chat.call; text: typeof chat.text }, error: string): Fake {
  fake.reply(say.call("shell", { command: show }));
  fake.reply(say.text("seen"));
  fake.error(400, { message: `no such field, key ${key}` });
  fake.exactly(chat.raw(error), chat.eof());
  fake.reply(say.text("well"));
  fake.models(chat.status(401), chat.raw(`{"error":{"message":"bad key ${key}"}}`));
  return fake;
}

function told<F extends ContractFake>(fake: F): F {
  fake.say({ calls: [{ name: "shell", args: { command: show } }] });
  fake.say({ text: "seen" });
  fake.fail(400, { message: `no such field, key ${key}` });
  fake.fail(503, { message: `overloaded, key ${key}` });
  fake.say({ text: "well" });
  fake.models({ status: 401 });
  return fake;
}

const show = "env; cat /proc/self/environ | tr '\\0' '\\n'";
const inBand = `data: {"error":{"type":"server_error","message":"key ${key} overloaded"}}\n\n`;
const openai = async () => script(await chat.openaiFake({ key }), chat, inBand);
const anthropic = async () =>
  script(
    await messages.anthropicFake({ key }),
    messages,
    `event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"key ${key}"}}\n\n`,
  );

test.each<[string, Wire]>([
  ["openai", { fake: openai, env: (url) => ({ OLLIE_OPENAI_URL: url, OLLIE_OPENAI_KEY: key }) }],
  ["openrouter", { fake: openai, env: (url) => ({ OLLIE_OPENROUTER_URL: url, OPENROUTER_API_KEY: key }) }],
  ["anthropic", { fake: anthropic, env: (url) => ({ OLLIE_ANTHROPIC_URL: url, ANTHROPIC_API_KEY: key }) }],
  [
    "copilot",
    {
      fake: async () => told(await chatContract()),
      env: (url) => ({ OLLIE_COPILOT_URL: `${url}/v1`, COPILOT_GITHUB_TOKEN: key }),
    },
  ],
  [
    "gemini",
    {
      fake: async () => told(await geminiContract()),
      env: (url) => ({ OLLIE_GEMINI_URL: url, GEMINI_API_KEY: key }),
    },
  ],
  [
    "ollama",
    {
      fake: async () => told(await ollamaContract()),
      env: (url) => ({ OLLIE_OLLAMA_URL: url, OLLIE_OLLAMA_KEY: key }),
    },
  ],
  [
    "kiro",
    {
      fake: async () => told(Object.assign(await kiroContract(), { token: key })),
      env: (url) => ({ OLLIE_KIRO_URL: url, OLLIE_KIRO_TOKEN: key }),
    },
  ],
])("H-061: the key of %s is in no log, event, error, saved file or environment of a tool", async (backend, wire) => {
  const fake = await wire.fake();
  onTestFinished(() => fake.close());
  const at = place({ OLLIE_BACKEND: backend, OLLIE_MODEL: "fake-1" });
  onTestFinished(async () => {
    for (const pid of await leftovers(at)) process.kill(pid, "SIGKILL");
    at.remove();
  });
  const secret = join(at.dir, ".config/ollie/env");
  mkdirSync(join(at.dir, ".config/ollie"), { recursive: true, mode: 0o700 });
  const lines = Object.entries(wire.env(fake.url)).map(([name, value]) => `${name}=${value}\n`);
  writeFileSync(secret, lines.join(""), { mode: 0o600 });

  const running = await daemon(at);
  onTestFinished(() => running.kill());
  const { client } = running;
  const events: string[] = [];
  const listener = await running.connect();
  const listening = (async () => {
    const file = await listener.open("eventwait");
    for (;;) events.push((await file.read(undefined, 0)).toString());
  })().catch(() => {});

  await client.rdwr("session/new", `name=s1\ncwd=${at.work}`);
  await client.wstat(`session/s1/agent/${(await readable(client, "session/idx")).split("\t")[5]}`, { name: "a1" });
  const idle = () => until(async () => (await readable(client, `${A}/state`)) === "idle\n");

  await client.write(`${A}/prompt`, "show your environment");
  await idle();
  await client.write(`${A}/prompt`, "fail");
  await idle();
  await client.write(`${A}/prompt`, "fail once more");
  await idle();
  await client.rdwr("ctl", "invalidate models");
  await client.rdwr(`session/s1/ctl`, "save");

  const tree = await served(client);
  expect(tree).toContain("== backends\n");
  const log = await readable(client, `${A}/log`);
  expect(log).toMatch(/HOME=|PATH=/);
  expect(log).toContain("[key]");
  expect(log).toContain("well");
  expect(fake.requests.length).toBeGreaterThanOrEqual(4);
  expect(events.join("")).toContain("[key]");
  await listener.close();
  await listening;
  await running.term();

  expect(tree).not.toContain(key);
  expect(events.join("")).not.toContain(key);
  expect(running.said()).not.toContain(key);
  const files = stored(at.dir, secret);
  expect(files.some(([path]) => path.endsWith(".json"))).toBe(true);
  expect(files.filter(([, text]) => text.includes(key)).map(([path]) => path)).toEqual([]);
});
