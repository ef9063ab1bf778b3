/** The CodeWhisperer wire, and the login of kiro-cli in a real SQLite file. */
import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { kiroBackend } from "../../../plugins/backend-kiro/index.ts";
import type { Message } from "../../../plugins/backends/types.ts";
import { after, ask, failure, hello, readTool } from "../../fakes/ask.ts";
import { call, frame, kiroFake, say } from "../../fakes/kiro.ts";

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0)) await step();
});

async function start(options: { model?: string; idle?: number; env?: Record<string, string> } = {}) {
  const fake = await kiroFake();
  undo.push(fake.close);
  const env = { OLLIE_KIRO_TOKEN: "token-0", OLLIE_KIRO_URL: fake.url, ...options.env };
  const urls = { oidc: `${fake.url}/token`, social: `${fake.url}/refreshToken` };
  const factory = kiroBackend({ env, idle: options.idle, ...urls });
  const create = (model = options.model ?? "claude-x") => factory.create({ model });
  return { fake, factory, create, backend: await create(), env };
}

const tools = [readTool];

test.each([1, 3, 7, undefined])(
  "H-012: frames in writes of %s bytes: text, id, name and arguments are exact",
  async (size) => {
    const { fake, backend } = await start();
    fake.reply([say("café "), say("日本"), call("tu-1", "file_read", { path: "é日本.txt" }, 5)], size);
    const { text, calls, done, usage, error } = await ask(backend, hello, { tools });
    expect(error).toBeUndefined();
    expect(text).toBe("café 日本");
    expect(calls).toEqual([{ type: "call", id: "tu-1", name: "file_read", args: '{"path":"é日本.txt"}' }]);
    expect(done?.stop).toBe("tool_calls");
    expect(usage).toMatchObject({ estimated: true });
  },
);

test("H-012: interleaved calls, unknown events and thinking", async () => {
  const { fake, backend } = await start();
  const [a, aEnd] = call("a", "file_read", { path: "a" });
  const [b, bEnd] = call("b", "file_read", { path: "b" });
  const frames = [
    frame("reasoningContentEvent", { text: "hm" }),
    a,
    b,
    frame("meteringEvent", { usage: 1 }),
    bEnd,
    aEnd,
  ];
  fake.reply(frames.filter((one) => one !== undefined));
  const { calls, reasoning } = await ask(backend, hello, { tools });
  expect(calls.map(({ id, args }) => [id, args])).toEqual([
    ["a", '{"path":"a"}'],
    ["b", '{"path":"b"}'],
  ]);
  expect(reasoning).toBe("hm");
});

test("results go back with their calls: objects as JSON, all else as text", async () => {
  const { fake, backend } = await start();
  fake.reply(["a", "b", "c", "d"].map((id) => call(id, "file_read", { path: id })));
  fake.reply([say("done")]);
  const first = await ask(backend, [{ role: "system", content: "be kind" }, ...hello], { tools });
  const history = after([{ role: "system", content: "be kind" }, ...hello], first, ['{"a":1}', "[1]", "12", "{broken"]);
  expect((await ask(backend, history, { tools })).error).toBeUndefined();
  const { history: past, currentMessage } = fake.chats[1]?.body.conversationState ?? {};
  expect(past[0].userInputMessage.content).toBe("be kind\n\nhello");
  expect(past[1].assistantResponseMessage.toolUses).toHaveLength(4);
  const { toolResults, tools: specs } = currentMessage.userInputMessage.userInputMessageContext;
  expect(toolResults.map(({ content }: { content: unknown[] }) => content[0])).toEqual([
    { json: { a: 1 } },
    { text: "[1]" },
    { text: "12" },
    { text: "{broken" },
  ]);
  expect(specs).toHaveLength(1);
  expect(fake.complaints).toEqual([]);
});

test("orphans are removed, gaps filled, and tools that are no longer offered named", async () => {
  const { fake, backend } = await start();
  fake.reply([say("ok")]);
  const messages: Message[] = [
    { role: "user", content: "a" },
    { role: "tool", toolCallId: "gone", name: "x", content: "orphan" },
    { role: "assistant", content: "", toolCalls: [{ id: "c", name: "old_tool", args: {} }] },
    { role: "user", content: "b" },
    { role: "user", content: "c" },
    { role: "assistant", content: "last" },
  ];
  expect((await ask(backend, messages)).error).toBeUndefined();
  expect(fake.complaints).toEqual([]);
  expect(JSON.stringify(fake.chats[0]?.body)).not.toContain("orphan");
});

test.each([
  ["", "auto"],
  ["anthropic/claude", "auto"],
  ["qwen:9b", "auto"],
  ["claude-x", "claude-x"],
])("model %j is %s", async (model, id) => {
  const { fake, create } = await start();
  fake.reply([say("ok")]);
  await ask(await create(model));
  expect(fake.chats[0]?.body.conversationState.currentMessage.userInputMessage.modelId).toBe(id);
});

test.each<[string, number, object, string]>([
  [
    "too long",
    400,
    { __type: "ValidationException", message: "Input is too long.", reason: "CONTENT_LENGTH_EXCEEDS_THRESHOLD" },
    "overflow",
  ],
  ["throttled", 429, { __type: "ThrottlingException", message: "slow down" }, "rateLimit"],
  [
    "H-017: a month's quota",
    402,
    { __type: "ServiceQuotaExceededException", message: "limit", reason: "MONTHLY_REQUEST_COUNT" },
    "quota",
  ],
  ["malformed", 400, { __type: "ValidationException", message: "Improperly formed request." }, "badRequest"],
  ["broken", 500, { __type: "InternalServerException", message: "oops" }, "transient"],
])("%s is classed by the name of the exception", async (_, status, body, kind) => {
  const { fake, backend } = await start();
  fake.error(status, body);
  const error = failure(await ask(backend));
  expect(error.kind).toBe(kind);
  expect(error.message).toContain((body as { message: string }).message);
});

test.each<[string, Uint8Array[], string]>([
  [
    "an exception in the stream",
    [say("a"), frame("ThrottlingException", { message: "slow down" }, "exception")],
    "rateLimit",
  ],
  ["H-015: an end inside of a frame", [say("hello").subarray(0, 20)], "transient"],
  ["H-015: an end inside of a call", call("a", "file_read", { path: "a" }, 3).slice(0, 2), "transient"],
  ["nothing", [], "transient"],
  ["a checksum that is wrong", [Buffer.concat([say("hello").subarray(0, -1), Buffer.of(0)])], "transient"],
  ["no frames", [Buffer.from("<html>hello</html>")], "transient"],
])("%s is an error, and no call comes of it", async (_, frames, kind) => {
  const { fake, backend } = await start();
  fake.reply([frames]);
  const outcome = await ask(backend, hello, { tools });
  expect(failure(outcome).kind).toBe(kind);
  expect(outcome.calls).toEqual([]);
});

test("H-019: silence ends", async () => {
  const { fake, backend } = await start({ idle: 400 });
  fake.exactly([{ do: "stall" }]);
  expect(failure(await ask(backend)).kind).toBe("transient");
});

test("models and windows", async () => {
  const { backend } = await start();
  expect(await backend.models()).toEqual(["auto", "claude-x"]);
  expect(await backend.contextLength()).toBe(200_000);
  backend.setModel("else");
  expect(await backend.contextLength()).toBe(100_000);
});

async function database(rows: Record<string, object>, state: Record<string, object> = {}): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "ollie-kiro-"));
  undo.push(() => rm(folder, { recursive: true }));
  const file = join(folder, "it's data.sqlite3");
  const insert = (table: string, values: Record<string, object>) =>
    Object.entries(values)
      .map(([key, value]) => `INSERT INTO ${table} VALUES ('${key}', '${JSON.stringify(value)}');`)
      .join("");
  const schema =
    "CREATE TABLE auth_kv (key TEXT PRIMARY KEY, value TEXT); CREATE TABLE state (key TEXT PRIMARY KEY, value BLOB);";
  execFileSync("sqlite3", [file], { input: schema + insert("auth_kv", rows) + insert("state", state) });
  return file;
}
const stored = (file: string, key: string) =>
  JSON.parse(execFileSync("sqlite3", [file, `SELECT value FROM auth_kv WHERE key = '${key}'`], { encoding: "utf8" }));
const odic = (expires: number) => ({
  "kirocli:odic:token": {
    access_token: "token-0",
    refresh_token: "rt-1",
    expires_at: new Date(Date.now() + expires).toISOString(),
    region: "eu-west-1",
    scopes: ["it''s"],
  },
  "kirocli:odic:device-registration": { client_id: "ci", client_secret: "cs", region: "eu-west-1" },
});
const arn = "arn:aws:codewhisperer:us-west-2:1:profile/X";

test("the login of kiro-cli is read, and its profile named", async () => {
  const file = await database(odic(3_600_000), { "api.codewhisperer.profile": { arn } });
  const { fake, backend, factory } = await start({ env: { OLLIE_KIRO_TOKEN: `sqlite://${file}` } });
  expect(await factory.available()).toEqual({ ok: true, why: "a login is in OLLIE_KIRO_TOKEN" });
  fake.reply([say("ok")]);
  expect((await ask(backend)).text).toBe("ok");
  expect(fake.chats[0]?.body.profileArn).toBe(arn);
  expect(fake.renewals).toEqual([]);
});

test("H-024: a token near its end is renewed first, once for all, and written back", async () => {
  const file = await database(odic(60_000));
  const { fake, create } = await start({ env: { OLLIE_KIRO_TOKEN: `sqlite://${file}` } });
  const backends = await Promise.all([create(), create(), create()]);
  for (const _ of backends) fake.reply([say("ok")]);
  expect((await Promise.all(backends.map((backend) => ask(backend)))).map(({ text }) => text)).toEqual([
    "ok",
    "ok",
    "ok",
  ]);
  expect(fake.renewals.map(({ body }) => body)).toEqual([
    { grantType: "refresh_token", refreshToken: "rt-1", clientId: "ci", clientSecret: "cs" },
  ]);
  const row = stored(file, "kirocli:odic:token");
  expect(row).toMatchObject({ access_token: "new-token-1", refresh_token: "rt-1", region: "eu-west-1" });
  expect(Date.parse(row.expires_at)).toBeGreaterThan(Date.now() + 3_000_000);
});

test("H-024: a token that is refused is renewed, and the request sent once more", async () => {
  const file = await database({
    "kirocli:social:token": {
      access_token: "token-0",
      refresh_token: "rt-1",
      expires_at: new Date(Date.now() + 3_600_000).toISOString(),
      profile_arn: arn,
    },
  });
  const { fake, backend } = await start({ env: { OLLIE_KIRO_TOKEN: `sqlite://${file}` } });
  fake.token = "something else";
  fake.reply([say("ok")]);
  expect((await ask(backend)).text).toBe("ok");
  expect(fake.renewals.map(({ path, body }) => [path, body])).toEqual([["/refreshToken", { refreshToken: "rt-1" }]]);
  expect(fake.chats.map(({ headers }) => headers.authorization)).toEqual(["Bearer token-0", "Bearer new-token-1"]);
  expect(fake.chats[1]?.body.profileArn).toBeUndefined();
});

test("a login that kiro-cli renewed in the meantime is taken from its file", async () => {
  const file = await database(odic(3_600_000));
  const { fake, backend } = await start({ env: { OLLIE_KIRO_TOKEN: `sqlite://${file}` } });
  fake.reply([say("a")]);
  await ask(backend);
  execFileSync("sqlite3", [file], { input: "UPDATE auth_kv SET value = replace(value, 'token-0', 'token-by-cli');" });
  fake.token = "token-by-cli";
  fake.reply([say("b")]);
  expect((await ask(backend)).text).toBe("b");
  expect(fake.renewals).toEqual([]);
});

test("a login that can not be renewed says what to do, and shows no secret", async () => {
  const rows = odic(0);
  rows["kirocli:odic:token"].refresh_token = "rt-secret-old";
  const { backend } = await start({ env: { OLLIE_KIRO_TOKEN: `sqlite://${await database(rows)}` } });
  const error = failure(await ask(backend));
  expect([error.kind, error.message]).toEqual([
    "auth",
    expect.stringMatching(/^kiro: 400 invalid_grant.*\(run kiro-cli login\)$/),
  ]);
});

test.each<[Record<string, string>, RegExp]>([
  [{ OLLIE_KIRO_TOKEN: "", XDG_DATA_HOME: "/nonexistent" }, /no login of kiro-cli, and OLLIE_KIRO_TOKEN is not set/],
  [{ OLLIE_KIRO_TOKEN: "sqlite:///nonexistent/x" }, /unable to open database/],
  [{ OLLIE_KIRO_TOKEN: "t", OLLIE_KIRO_URL: "" }, /needs OLLIE_KIRO_URL/],
])("with %j the request says what is missing", async (env, words) => {
  const { backend } = await start({ env });
  expect(failure(await ask(backend)).message).toMatch(words);
});
