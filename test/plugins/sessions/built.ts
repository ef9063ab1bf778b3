/** The built daemon for tests of what it keeps: a home, a model, and sessions saved in it. */
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished } from "vitest";
import type { Client } from "#core/client";
import { sessionStore } from "../../../plugins/sessions/store.ts";
import { type OpenAIFake, openaiFake } from "../../fakes/openai.ts";
import { type Daemon, daemon, leftovers, type Place, place } from "../../soak/daemon.ts";

export { build } from "../../dist.ts";

export async function model(): Promise<OpenAIFake> {
  const fake = await openaiFake();
  onTestFinished(() => fake.close());
  return fake;
}

/** A home that is removed, and whose processes have to be gone by then. */
export function home(env: Record<string, string>): Place {
  const at = place(env);
  onTestFinished(async () => {
    const left = await leftovers(at);
    for (const pid of left) process.kill(pid, "SIGKILL");
    at.remove();
    expect(left).toEqual([]);
  });
  return at;
}

export async function start(at: Place, args?: string[]): Promise<Daemon> {
  const running = await daemon(at, args);
  onTestFinished(() => running.kill());
  return running;
}

export const A = "session/s1/agent/a1";

export async function until(probe: () => Promise<boolean>): Promise<void> {
  for (let i = 0; i < 1500; i++) {
    if (await probe()) return;
    await sleep(10);
  }
  throw new Error(`waited in vain for ${probe}`);
}

export const read = async (client: Client, path: string): Promise<string> => (await client.read(path)).toString();
export const idle = (client: Client, agent = A) =>
  until(async () => (await read(client, `${agent}/state`)) === "idle\n");

/** Messages of about `bytes` bytes, and a session with one agent called a1 that has them. */
function longHistory(name: string, bytes: number, cwd: string) {
  const [id, agent] = [randomUUID(), randomUUID()];
  const messages: unknown[] = [];
  for (let size = 0, n = 0; size < bytes; n++, size += 4_200) {
    const args = { command: `echo ${n}` };
    messages.push(
      { role: "user", content: `question ${n} ${"x".repeat(1_900)}` },
      { role: "assistant", content: "", tool_calls: [{ id: `c${n}`, name: "shell", arguments: args }] },
      { role: "tool", content: `${n}\n${"y".repeat(2_000)}`, tool_call_id: `c${n}`, name: "shell" },
      { role: "assistant", content: `answer ${n}` },
    );
  }
  const row = { state: "idle", cwd, backend: "openai", model: "fake-1", name: "a1", id: agent };
  const head = { id, name, created: 1, env: {} };
  return { head, row, messages, agent: { ...row, agent: "default" } };
}

/** A saved session in one piece, as older files and edited ones are. */
export function savedSession(dir: string, name: string, bytes: number, cwd: string): void {
  const { head: session, row, messages, agent } = longHistory(name, bytes, cwd);
  const head = JSON.stringify({ version: 1, seq: 0, session, rows: [row] });
  const agents = JSON.stringify([{ ...agent, messages }]);
  writeFileSync(join(dir, `${session.id}.json`), `${head.slice(0, -1)},\n"agents":${agents}\n}\n`);
}

/** The same as the daemon writes it. */
export async function writtenSession(dir: string, name: string, bytes: number, cwd: string): Promise<void> {
  const { head, row, messages, agent } = longHistory(name, bytes, cwd);
  const list = { length: messages.length, epoch: 0, from: () => messages, open: [], toJSON: () => messages };
  const agents = [{ ...agent, messages: list, tokens: bytes / 4 }];
  const store = sessionStore(dir, head.id);
  await store.save((seq) => ({ ...head, seq, rows: [row], unknown: {}, sections: { agents } }));
}
