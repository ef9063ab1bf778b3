/** One session, several providers, and a restart in between: each takes the history that the others made. */
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import type { Client } from "#core/client";
import { build } from "../../dist.ts";
import * as messages from "../../fakes/anthropic.ts";
import * as chat from "../../fakes/openai.ts";
import { type Daemon, daemon, leftovers, place } from "../../soak/daemon.ts";

beforeAll(build, 60_000);

const A = "session/s1/agent/a1";

async function turn(client: Client, prompt: string): Promise<void> {
  await client.write(`${A}/prompt`, prompt);
  for (let n = 0; n < 1500; n++) {
    if ((await client.read(`${A}/state`)).toString() === "idle\n") return;
    await sleep(10);
  }
  throw new Error("the agent did not come to rest");
}

test("a session goes from Anthropic to OpenAI and back, over a restart: thoughts return where they belong", async () => {
  const claude = await messages.anthropicFake();
  const gpt = await chat.openaiFake();
  onTestFinished(async () => {
    await claude.close();
    await gpt.close();
  });
  const at = place({ ...gpt.env, ...claude.env, OLLIE_MODEL: "claude-opus-4-7" });
  onTestFinished(async () => {
    for (const pid of await leftovers(at)) process.kill(pid, "SIGKILL");
    at.remove();
  });
  const start = async (): Promise<Daemon> => {
    const running = await daemon(at);
    onTestFinished(() => running.kill());
    return running;
  };

  const first = await start();
  await first.client.rdwr("session/new", `name=s1\ncwd=${at.work}\nbackend=anthropic\nmodel=claude-opus-4-7`);
  const name = (await first.client.read("session/idx")).toString().split("\t")[5] ?? "";
  await first.client.wstat(`session/s1/agent/${name}`, { name: "a1" });
  claude.reply(
    messages.thinking("look first"),
    messages.text("I look."),
    messages.call("shell", { command: "echo one" }, { id: "toolu_1" }),
  );
  claude.reply(messages.thinking("enough"), messages.text("It says one."));
  await turn(first.client, "begin");

  await first.client.rdwr(`${A}/ctl`, "backend openai");
  await first.client.rdwr(`${A}/ctl`, "model gpt-x");
  // An id that Anthropic does not take, and one that was there before.
  gpt.reply(
    chat.call("shell", { command: "echo two" }, { id: "functions.shell:0", index: 0 }),
    chat.call("shell", { command: "echo three" }, { id: "toolu_1", index: 1 }),
  );
  gpt.reply(chat.text("It says two and three."));
  await turn(first.client, "go on");
  expect(gpt.requests[0]?.raw).not.toContain("look first");
  await first.term();

  const { client } = await start();
  await client.rdwr(`${A}/ctl`, "backend anthropic");
  await client.rdwr(`${A}/ctl`, "model claude-opus-4-7");
  claude.reply(messages.text("done"));
  await turn(client, "and now?");
  expect([...claude.complaints, ...gpt.complaints]).toEqual([]);
  const last = claude.requests.at(-1)?.body.messages as { role: string; content: { type: string; text?: string }[] }[];
  expect(last.map(({ role, content }) => `${role}: ${content.map(({ type }) => type).join(" ")}`)).toEqual([
    "user: text",
    "assistant: thinking text tool_use",
    "user: tool_result",
    "assistant: thinking text",
    "user: text",
    "assistant: tool_use tool_use",
    "user: tool_result tool_result",
    "assistant: text",
    "user: text",
  ]);
});
