/** One session through every provider and back, over a restart: each strict fake takes what the others made. */
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { build } from "../../dist.ts";
import { type Daemon, daemon, leftovers, place } from "../../soak/daemon.ts";
import { chatContract, messagesContract } from "./contract-fakes.ts";
import { geminiContract, kiroContract, ollamaContract } from "./contract-wires.ts";

beforeAll(build, 60_000);

const A = "session/s1/agent/a1";
const token = "tid=rounds";

test("H-008, H-009, H-020: a history of all providers is legal for each of them, before and after a restart", async () => {
  const fakes = {
    gemini: await geminiContract(),
    anthropic: await messagesContract(),
    openai: await chatContract(),
    ollama: await ollamaContract(),
    kiro: Object.assign(await kiroContract(), { token }),
    copilot: await chatContract(),
    openrouter: await chatContract(),
  };
  const all = Object.entries(fakes);
  const at = place({
    ...{ OLLIE_GEMINI_URL: fakes.gemini.url, OLLIE_GEMINI_KEY: "any", OLLIE_ANTHROPIC_URL: fakes.anthropic.url },
    ...{ OLLIE_ANTHROPIC_KEY: "any", OLLIE_OPENAI_URL: fakes.openai.url, OLLIE_OLLAMA_URL: fakes.ollama.url },
    ...{ OLLIE_KIRO_URL: fakes.kiro.url, OLLIE_KIRO_TOKEN: token, OLLIE_COPILOT_URL: `${fakes.copilot.url}/v1` },
    ...{ OLLIE_COPILOT_TOKEN: token, OLLIE_OPENROUTER_URL: fakes.openrouter.url, OLLIE_OPENROUTER_KEY: "any" },
    ...{ OLLIE_BACKEND: "gemini", OLLIE_MODEL: "fake-1" },
  });
  onTestFinished(async () => {
    for (const [, fake] of all) await fake.close();
    for (const pid of await leftovers(at)) process.kill(pid, "SIGKILL");
    at.remove();
  });
  const start = async (): Promise<Daemon> => {
    const running = await daemon(at);
    onTestFinished(() => running.kill());
    return running;
  };
  /** A turn of two calls with each provider. All of them are stupid enough to use one id again and again. */
  const round = async ({ client }: Daemon) => {
    for (const [name, fake] of all) {
      const before = fake.requests.length;
      await client.rdwr(`${A}/ctl`, `backend ${name}`);
      await client.rdwr(`${A}/ctl`, "model fake-1");
      const calls = [1, 2].map((n) => ({ id: `id-${n}`, name: "shell", args: { command: `echo ${name} ${n}` } }));
      fake.say({ reasoning: `thoughts of ${name}`, text: `I, ${name}`, calls });
      fake.say({ text: `so says ${name}` });
      await client.write(`${A}/prompt`, `now you, ${name}`);
      while ((await client.read(`${A}/state`)).toString() !== "idle\n") await sleep(10);
      expect([name, fake.complaints, fake.requests.length - before]).toEqual([name, [], 2]);
      expect(fake.requests.at(-1)?.raw).toContain(`${name} 2`);
    }
  };

  const first = await start();
  await first.client.rdwr("session/new", `name=s1\ncwd=${at.work}`);
  const agent = (await first.client.read("session/idx")).toString().split("\t")[5] ?? "";
  await first.client.wstat(`session/s1/agent/${agent}`, { name: "a1" });
  await round(first);
  await first.kill();
  await round(await start());
  // Signatures are still on the calls that they came with, two of each round; no other call has Gemini's.
  expect(fakes.gemini.requests.at(-1)?.raw.match(/"thoughtSignature":"S="/g)).toHaveLength(4);
  for (const [name, fake] of all)
    if (name !== "gemini") expect(fake.requests.at(-1)?.raw).not.toMatch(/thoughtSignature|thoughts of gemini/);
}, 60_000);
