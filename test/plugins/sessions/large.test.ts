/** Many and large sessions, against the built daemon. */
import { mkdirSync } from "node:fs";
import { beforeAll, expect, test, vi } from "vitest";
import { call, text } from "../../fakes/openai.ts";
import { leftovers, look } from "../../soak/daemon.ts";
import { A, build, home, idle, model, read, savedSession, start, until, writtenSession } from "./built.ts";

vi.setConfig({ testTimeout: 120_000 });

beforeAll(build, 60_000);

test("H-039: 200 sessions of 2 MB and one of 100 MB are listed at once, in little memory; the big one opens", async () => {
  const fake = await model();
  const at = home(fake.env);
  mkdirSync(at.sessions, { recursive: true });
  for (let n = 0; n < 200; n++) savedSession(at.sessions, `s${n}`, 2_000_000, at.work);
  savedSession(at.sessions, "big", 100_000_000, at.work);

  const { client, pid } = await start(at);
  expect(await client.ls("session")).toHaveLength(203);
  const idx = await read(client, "session/idx");
  expect(idx.split("\n")).toHaveLength(202);
  expect(idx).toMatch(/^big\tidle\t\S+\topenai\tfake-1\ta1\t/);
  expect(look(pid).rss).toBeLessThan(300);

  const messages = async (name: string) =>
    Number(/^messages=(.*)$/m.exec(await read(client, `session/${name}/agent/a1/stats`))?.[1]);
  expect(await messages("big")).toBeGreaterThan(90_000);
  expect(await messages("s7")).toBeGreaterThan(1_800);
});

test("200 sessions of 2 MB that are used one after the other do not add up in memory", async () => {
  const fake = await model();
  const at = home(fake.env);
  mkdirSync(at.sessions, { recursive: true });
  for (let n = 0; n < 200; n++) await writtenSession(at.sessions, `s${n}`, 2_000_000, at.work);
  const { client, pid } = await start(at);
  fake.always(({ body }) => [text(`you sent ${body.messages.length}`)]);
  for (let n = 0; n < 200; n++) await client.stat(`session/s${n}/agent/a1/stats`);
  expect(look(pid).rss).toBeLessThan(200);
  for (let n = 0; n < 200; n++) expect(await read(client, `session/s${n}/agent/a1/context`)).toContain("answer 470");
  for (let n = 0; n < 20; n++) await client.write(`session/s${n}/agent/a1/prompt`, "and now");
  for (let n = 0; n < 20; n++) {
    await idle(client, `session/s${n}/agent/a1`);
    expect(await read(client, `session/s${n}/agent/a1/log`)).toMatch(/you sent 19\d\d/);
  }
  // all of them take over 800
  expect(look(pid).rss).toBeLessThan(500);
  expect(fake.complaints).toEqual([]);
});

test("while a session of 100 MB is read the others are served", async () => {
  const fake = await model();
  const at = home(fake.env);
  mkdirSync(at.sessions, { recursive: true });
  await writtenSession(at.sessions, "big", 100_000_000, at.work);
  await writtenSession(at.sessions, "s1", 1_000, at.work);
  const { client, connect } = await start(at);
  expect(await read(client, "session/big/agent/a1/stats")).toMatch(/^messages=95\d\d\d$/m);
  const other = await connect();
  const context = await client.open("session/big/agent/a1/context");
  let reading = true;
  const first = context.read(undefined, 0).then((bytes) => {
    reading = false;
    return bytes;
  });
  let answered = 0;
  for (; reading; answered++) expect(await read(other, `${A}/state`)).toBe("idle\n");
  expect((await first).toString()).toContain("question 0");
  // in one piece it is read between two answers
  expect(answered).toBeGreaterThan(50);
});

test("SIGTERM with 200 sessions in use and turns under way ends within 5 s, with everything saved", async () => {
  const fake = await model();
  const at = home(fake.env);
  mkdirSync(at.sessions, { recursive: true });
  for (let n = 0; n < 200; n++) savedSession(at.sessions, `s${n}`, 200_000, at.work);
  const { client, term } = await start(at);
  fake.always(({ body }) => [call("shell", { command: `echo for ${body.messages.at(-1).content}; sleep 60` })]);
  for (let n = 0; n < 200; n++) await client.write(`session/s${n}/agent/a1/plan`, `- [ ] plan ${n}\n`);
  for (let n = 0; n < 4; n++) await client.write(`session/s${n}/agent/a1/prompt`, `prompt ${n}`);
  for (let n = 0; n < 4; n++)
    await until(async () => (await read(client, `session/s${n}/agent/a1/state`)).startsWith("calling"));
  const { code, ms } = await term();
  expect(code).toBe(0);
  expect(ms).toBeLessThan(5_000);
  expect(await leftovers(at)).toEqual([]);

  const again = await start(at);
  for (const n of [0, 1, 2, 3, 99, 199])
    expect(await read(again.client, `session/s${n}/agent/a1/plan`)).toBe(`- [ ] plan ${n}\n`);
  fake.always(() => [text("legal")]);
  for (let n = 0; n < 4; n++) {
    const agent = `session/s${n}/agent/a1`;
    const context = await read(again.client, `${agent}/context`);
    expect(context).toContain(`"prompt ${n}"`);
    expect(context).toMatch(/interrupted/);
    await again.client.write(`${agent}/prompt`, "go on");
    await idle(again.client, agent);
  }
  expect(fake.complaints).toEqual([]);
});
