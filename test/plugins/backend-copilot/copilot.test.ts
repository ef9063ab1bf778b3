/** Copilot: the token's life, against a fake that lets it expire. */
import { spawn, spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { copilotBackend } from "../../../plugins/backend-copilot/index.ts";
import { after, ask, failure, hello, readTool } from "../../fakes/ask.ts";
import { account, type CopilotFakeOptions, call, copilotFake, text } from "../../fakes/copilot.ts";

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0)) await step();
});

async function start(options: CopilotFakeOptions = {}) {
  const fake = await copilotFake(options);
  undo.push(fake.close);
  const factory = copilotBackend({ env: fake.env });
  const create = () => factory.create({ model: "gpt-b" });
  return { fake, factory, create, backend: await create() };
}

const tools = [readTool];

test("a reply, with the headers that the service wants and the token of the exchange", async () => {
  const { fake, backend } = await start();
  fake.reply(text("hello there"));
  const outcome = await ask(backend);
  expect([outcome.text, outcome.error]).toEqual(["hello there", undefined]);
  expect(fake.chats[0]?.headers).toMatchObject({
    authorization: "Bearer tid=1;exp=1",
    "x-initiator": "user",
    "openai-intent": "conversation-edits",
  });
  expect(fake.complaints).toEqual([]);
});

test("H-024: a token that the server lets expire early is renewed, and the request sent once more", async () => {
  const { fake, backend } = await start();
  fake.reply(call("file_read", { path: "a" }));
  fake.reply(text("done"));
  const first = await ask(backend, hello, { tools });
  fake.expire();
  const second = await ask(backend, after(hello, first, ["A"]), { tools });
  expect([second.text, second.error]).toEqual(["done", undefined]);
  expect(fake.exchanges).toHaveLength(2);
  expect(fake.chats.map(({ headers }) => [headers.authorization, headers["x-initiator"]])).toEqual([
    ["Bearer tid=1;exp=1", "user"],
    ["Bearer tid=1;exp=1", "agent"],
    ["Bearer tid=2;exp=1", "agent"],
  ]);
  expect(second.calls).toEqual([]);
});

test("H-024: a token is renewed before it expires", async () => {
  const { fake, backend } = await start({ life: 0.3 });
  fake.reply(text("a"));
  fake.reply(text("b"));
  await ask(backend);
  await new Promise((resolve) => setTimeout(resolve, 400));
  expect((await ask(backend)).text).toBe("b");
  expect(fake.chats.map(({ headers }) => headers.authorization)).toEqual(["Bearer tid=1;exp=1", "Bearer tid=2;exp=1"]);
});

test("H-024: one renewal serves all agents", async () => {
  const { fake, create } = await start();
  const backends = await Promise.all([create(), create(), create(), create()]);
  for (const _ of backends) fake.reply(text("ok"));
  let open = () => {};
  fake.hold(
    new Promise<void>((resolve) => {
      open = resolve;
    }),
  );
  const asked = backends.map((backend) => ask(backend));
  const stop = new AbortController();
  const left = ask(backends[0] as (typeof backends)[0], hello, { signal: stop.signal });
  const reason = new Error("enough");
  stop.abort(reason);
  expect((await left).error).toBe(reason);
  open();
  expect((await Promise.all(asked)).map(({ text }) => text)).toEqual(["ok", "ok", "ok", "ok"]);
  expect(fake.exchanges).toHaveLength(1);
});

test("H-024: a second refusal is an error, and not the end of the next request", async () => {
  const { fake, backend } = await start({ life: 0 });
  const error = failure(await ask(backend));
  expect([error.kind, error.status, fake.chats.length]).toEqual(["auth", 401, 2]);
});

test("an account that is refused says what to do, and shows no token", async () => {
  const { fake } = await start();
  const backend = await copilotBackend({ env: { ...fake.env, OLLIE_COPILOT_TOKEN: "gho_wrong-token" } }).create({
    model: "m",
  });
  const error = failure(await ask(backend));
  expect(error.kind).toBe("auth");
  expect(error.message).toMatch(/^copilot: 401 Bad credentials/);
  expect(error.message).not.toContain("gho_wrong-token");
  const none = await copilotBackend({ env: { OLLIE_CFG_PATH: "/nonexistent" } }).create({ model: "m" });
  expect(failure(await ask(none)).message).toBe(
    "copilot: no login (run ollie-login copilot) and OLLIE_COPILOT_TOKEN is not set",
  );
});

test("a token of Copilot's own is used as it is", async () => {
  const { fake } = await start();
  const env = { ...fake.env, OLLIE_COPILOT_TOKEN: "tid=x;exp=9", OLLIE_COPILOT_URL: fake.url };
  expect(failure(await ask(await copilotBackend({ env }).create({ model: "m" }))).kind).toBe("auth");
  expect(fake.exchanges).toHaveLength(0);
  expect(fake.chats[0]?.headers.authorization).toBe("Bearer tid=x;exp=9");
});

test("models are those that chat here, with the prompt's limit", async () => {
  const { backend } = await start();
  expect(await backend.models()).toEqual(["a", "gpt-b"]);
  expect(await backend.contextLength()).toBe(64_000);
});

test("ollie-login says its usage: asked, on standard output; misused, on standard error with status 2", () => {
  const script = join(import.meta.dirname, "../../../data/scripts/ollie-login");
  const run = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], { encoding: "utf8" });
    return { status, stdout: stdout.split("\n")[0], stderr: stderr.split("\n")[0] };
  };
  const usage = "usage: ollie-login copilot";
  expect(run("--help")).toEqual({ status: 0, stdout: usage, stderr: "" });
  for (const args of [[], ["github"], ["copilot", "more"]])
    expect(run(...args)).toEqual({ status: 2, stdout: "", stderr: usage });
});

test("ollie-login keeps the token for its owner alone, and the backend finds it", async () => {
  const folder = await mkdtemp(join(tmpdir(), "ollie-login-"));
  undo.push(() => rm(folder, { recursive: true }));
  const { fake } = await start({ pending: 2 });
  const cfg = join(folder, "cfg");
  const env = {
    ...process.env,
    OLLIE_COPILOT_LOGIN_URL: fake.url,
    OLLIE_COPILOT_GITHUB_URL: fake.url,
    OLLIE_CFG_PATH: cfg,
  };
  const script = join(import.meta.dirname, "../../../data/scripts/ollie-login");
  const child = spawn(process.execPath, [script, "copilot"], { env, stdio: ["ignore", "pipe", "inherit"] });
  let shown = "";
  child.stdout.on("data", (data) => {
    shown += data;
  });
  expect(await new Promise((resolve) => child.on("exit", resolve))).toBe(0);
  expect(shown).toBe(`open http://fake/device and type ABCD-1234\nlogged in: ${cfg}/copilot.json\n`);
  expect((await stat(join(cfg, "copilot.json"))).mode & 0o777).toBe(0o600);
  expect(JSON.parse(await readFile(join(cfg, "copilot.json"), "utf8"))).toEqual({ token: account, github: fake.url });
  const factory = copilotBackend({ env: { OLLIE_CFG_PATH: cfg } });
  expect(await factory.available()).toEqual({ ok: true, why: `a login is in ${cfg}/copilot.json` });
  fake.reply(text("ok"));
  expect((await ask(await factory.create({ model: "m" }))).text).toBe("ok");
});
