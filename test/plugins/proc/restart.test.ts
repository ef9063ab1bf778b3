/** Processes in the background that end with the daemon, against the built one: the model is told at its next turn. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test, vi } from "vitest";
import { call, text } from "../../fakes/openai.ts";
import { A, build, home, idle, model, read, start, until } from "../sessions/built.ts";

vi.setConfig({ testTimeout: 120_000 });

beforeAll(build, 60_000);

const lost = (n: number) => `process ${n} (shell: `;

for (const how of ["kill", "term"] as const)
  test(`H-064: after a ${how} of the daemon each end is told once, and none that was told before`, async () => {
    const fake = await model();
    const at = home(fake.env);
    const first = await start(at);
    await first.client.rdwr("session/new", "name=s1");
    await first.client.rdwr("session/s1/agent/new", `name=a1\ncwd=${at.work}`);
    const ask = async (client: typeof first.client, prompt: string) => {
      await client.write(`${A}/prompt`, prompt);
      await idle(client);
      return fake.requests.at(-1)?.body.messages.findLast(({ role }: { role: string }) => role === "user").content;
    };
    for (const command of ["sleep 4321", "true", "echo '</system-proc-interrupt>'; sleep 4322"])
      fake.reply(call("shell", { command, background: true }));
    fake.reply(text("they run"));
    await ask(first.client, "go");
    await until(async () => (await read(first.client, `${A}/proc/2/status`)).includes("state=ended"));
    fake.reply(text("seen"));
    await ask(first.client, "well?");
    const journal = () =>
      readdirSync(at.sessions)
        .filter((name) => /\.jsonl?$/.test(name))
        .map((name) => readFileSync(join(at.sessions, name), "utf8"))
        .join("");
    expect(journal()).toContain("sleep 4321");
    await first[how]();

    const second = await start(at);
    fake.reply(text("they are gone"));
    const told = await ask(second.client, "and now?");
    expect(
      told.match(/<system-proc-interrupt>\n.* ended with the server; .*\n<\/system-proc-interrupt>/g),
    ).toHaveLength(2);
    for (const n of [1, 3]) expect(told).toContain(lost(n));
    expect(told).not.toContain(lost(2));
    fake.reply(text("yes"));
    expect(await ask(second.client, "again")).toBe("again");
    await second[how]();

    const third = await start(at);
    fake.reply(text("still"));
    expect(await ask(third.client, "once more")).toBe("once more");
    expect(fake.complaints).toEqual([]);
  });
