/** Cases of the transport against the real agent, sessions and events, with a scripted model. */
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, onTestFinished, test } from "vitest";
import { connect as attach } from "#core/client";
import type { Rmsg, Tmsg } from "../../../core/ninep/codec.ts";
import { type TestOptions, testKernel } from "../../kit/kernel.ts";
import { type Raw, raw } from "./raw.ts";
import { settle } from "./serving.ts";

const A = "session/s1/agent/a1";

async function start(options: TestOptions) {
  const folder = mkdtempSync(join(tmpdir(), "9a-"));
  const kernel = await testKernel(options);
  const open = new Set<Raw>();
  onTestFinished(async () => {
    for (const one of open) one.duplex.destroy();
    await kernel.close();
    rmSync(folder, { recursive: true, force: true });
  });
  await kernel.agent();
  const path = join(folder, "s");
  await kernel.listen({ unix: path });
  return {
    kernel,
    path,
    async dial(): Promise<Raw> {
      const one = raw(connect(path));
      open.add(one);
      await one.hello();
      return one;
    },
  };
}

const read = (tag: number, fid: number, offset = 0, count = 65536): Tmsg => ({
  type: "Tread",
  tag,
  fid,
  offset,
  count,
});
const textOf = (reply: Rmsg | undefined): string => {
  if (reply?.type !== "Rread") throw new Error(`not an Rread: ${JSON.stringify(reply)}`);
  return Buffer.from(reply.data).toString();
};

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Bytes in use in this process: what waits to be collected, which depends on the machine's load, does not count. */
async function held(): Promise<number> {
  for (let n = 0; n < 3; n++) {
    collect();
    await settle();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Reads on from `offset` until `bytes` are there; gives where it stands. */
async function follow(
  client: Raw,
  fid: number,
  offset: number,
  until: (text: string) => boolean,
  hash?: { update(text: string): unknown },
): Promise<number> {
  let at = offset;
  for (let tail = ""; !until(tail); ) {
    const reply = await client.ask(read(7, fid, at));
    const text = textOf(reply);
    hash?.update(text);
    tail = (tail + text).slice(-200);
    at += reply?.type === "Rread" ? reply.data.length : 0;
  }
  return at;
}

test("of the whole tree every qid.path is unique and stays, and every entry equals its Tstat", async () => {
  const { path, kernel } = await start({});
  await kernel.prompt("hello");
  const client = await attach(path);
  const seen = new Map<number, string>();
  const visit = async (path: string): Promise<void> => {
    const { qid } = await client.stat(path);
    expect(seen.get(qid.path) ?? path).toBe(path);
    seen.set(qid.path, path);
    if (!(qid.type & 0x80)) return;
    for (const entry of await client.ls(path)) {
      const below = `${path === "/" ? "" : path}/${entry.name}`;
      expect(entry).toEqual(await client.stat(below));
      await visit(below);
    }
  };
  await visit("/");
  expect(seen.size).toBeGreaterThan(30);
  expect([...seen.values()]).toContain(`/${A}/chat`);
  // A second look gives the same numbers.
  const first = new Map(seen);
  await visit("/");
  expect(seen).toEqual(first);
  await client.close();
});

test("H-092: a client that never reads delays nobody, costs little, and goes on at its offset", async () => {
  const size = 50_000_000;
  const line = "abcdefghijklmnopqrstuvwxyz 0123456789\n";
  const text = line.repeat(size / line.length);
  const { kernel, dial } = await start({ replies: [{ steps: [{ text, chunk: 65_536 }] }] });
  // They ask for all that will ever come, and take none of it.
  const asked = 2000;
  const [lazy, gone] = [await dial(), await dial()];
  for (const one of [lazy, gone]) {
    await one.open(1, `${A}/chat.raw`);
    one.duplex.pause();
    one.send(...Array.from({ length: asked }, (_, tag) => read(tag, 1)));
  }
  const other = await dial();
  await other.open(1, `${A}/chat.raw`);
  await settle();
  await kernel.fs.write(`/${A}/prompt`, "go");
  const followed = createHash("sha256");
  const end = await follow(other, 1, 0, (tail) => tail.includes("0123456789\n[[[end]]]"), followed);
  expect(end).toBeGreaterThan(text.length);
  // What is held for one of them is a part of what it has not read.
  const before = await held();
  gone.duplex.destroy();
  await settle();
  const each = before - (await held());
  expect(each).toBeGreaterThan(0);
  expect(each).toBeLessThan(size / 8);
  lazy.duplex.resume();
  const hash = createHash("sha256");
  let at = 0;
  for (let n = 0; n < asked && at < end; n++) {
    // What the turn ends with has come behind it meanwhile.
    const got = Buffer.from(textOf(await lazy.next())).subarray(0, end - at);
    hash.update(got);
    at += got.length;
  }
  // No byte of it was skipped or sent twice.
  expect(at).toBe(end);
  expect(hash.digest("hex")).toBe(followed.digest("hex"));
}, 120_000);

test("H-093: 1,000 readers of chat, statewait, eventwait and feed that vanish leave nothing", async () => {
  const { kernel, dial } = await start({});
  const warnings: Error[] = [];
  const warn = (warning: Error) => warnings.push(warning);
  process.on("warning", warn);
  const descriptors = () => readdirSync("/proc/self/fd").length;
  const first = await dial();
  const files = ["chat", "chat.raw", "statewait", "feed"].map((name) => `${A}/${name}`).concat("eventwait");
  await settle();
  const start_ = descriptors();
  for (let round = 0; round < 1000; round++) {
    const client = await dial();
    for (const [n, file] of files.entries()) await client.open(n + 1, file);
    client.send(...files.map((_, n) => read(n, n + 1)));
    if (round % 10 === 0) await settle(2);
    client.duplex.destroy();
  }
  await expect.poll(descriptors).toBe(start_);
  // Many changes on one open file add no listener each.
  await first.open(1, `${A}/feed`);
  await first.open(2, `${A}/statewait`);
  for (let n = 0; n < 50; n++) {
    await kernel.fs.write(`/${A}/feed`, `text ${n}`);
    expect(textOf(await first.ask(read(1, 1)))).toBe(`text ${n}`);
  }
  process.off("warning", warn);
  expect(warnings).toEqual([]);
  // The last of them is served: everybody else's wake-ups were not in its way.
  first.send(read(5, 2));
  await kernel.fs.write(`/${A}/prompt`, "go");
  expect(textOf(await first.next())).toBe("thinking\n");
}, 120_000);

test("H-096: a flushed read of statewait gives Rflush, nothing later, and its tag is free", async () => {
  const { kernel, dial } = await start({});
  const client = await dial();
  await client.open(1, `${A}/statewait`);
  client.send(read(5, 1));
  await settle();
  expect(await client.ask({ type: "Tflush", tag: 6, oldtag: 5 })).toEqual({ type: "Rflush", tag: 6 });
  await kernel.prompt("go");
  expect(await client.ask({ type: "Tstat", tag: 5, fid: 1 })).toMatchObject({ type: "Rstat", tag: 5 });
  expect(await client.ask({ type: "Tflush", tag: 6, oldtag: 77 })).toEqual({ type: "Rflush", tag: 6 });
  // What changed meanwhile is there for the next read.
  expect(textOf(await client.ask(read(5, 1)))).toBe("thinking\n");
});

test("H-099: 100 times: look at state, then wait; the client always ends on the true state", async () => {
  const { kernel, dial } = await start({});
  const client = await dial();
  /** What one read of statewait gives, or nothing, when there is nothing to tell. */
  const wait = async (): Promise<string | undefined> => {
    client.send(read(1, 2));
    await settle(3);
    const first = await client.ask({ type: "Tflush", tag: 2, oldtag: 1 });
    if (first?.type === "Rflush") return undefined;
    await client.next();
    return textOf(first).trim();
  };
  for (let round = 0; round < 100; round++) {
    await client.open(1, `${A}/state`);
    let state = textOf(await client.ask(read(1, 1))).trim();
    const turn = kernel.prompt(`round ${round}`);
    // Some turns are over before the wait begins, some are not.
    if (round % 3 === 0) await turn;
    else await settle(round % 5);
    await client.open(2, `${A}/statewait`, 2);
    await client.ask({ type: "Twrite", tag: 1, fid: 2, offset: 0, data: Buffer.from(state) });
    const before = await wait();
    await turn;
    const after: string[] = [];
    for (let next = await wait(); next !== undefined; next = await wait()) after.push(next);
    state = after.at(-1) ?? before ?? state;
    expect(state).toBe("idle");
    client.send({ type: "Tclunk", tag: 1, fid: 1 }, { type: "Tclunk", tag: 2, fid: 2 });
    await client.take(2);
  }
}, 60_000);

test("H-101: odd arguments and results pass the files, and no reader is left blocked", async () => {
  const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
  const odd = [
    `{"a":${deep}}`,
    `{"a":${2n ** 70n}}`,
    '{"a":"\\ud800"}',
    '{"a":"\\u0000"}',
    JSON.stringify({ a: '1234567890123456789"'.repeat(500_000) }),
  ];
  const results = [deep, `${2n ** 70n}`, "\ud800", "a\u0000b", "z".repeat(10_000_000)];
  const steps = odd.map((args, n) => ({ call: { name: "look", args, id: `odd${n}` } }));
  const asks = results.map((_, n) => ({ call: { name: "give", args: { n }, id: `give${n}` } }));
  const { kernel, dial } = await start({
    replies: [{ steps }, { steps: asks }, { repeat: "always", steps: [{ text: "all is well" }] }],
    tools: { look: ({ a }) => `looked at ${typeof a}`, give: ({ n }) => results[Number(n)] as string },
  });
  const files = ["chat", "chat.raw"].map((name) => `${A}/${name}`);
  const clients = await Promise.all(files.map(dial));
  for (const [n, client] of clients.entries()) await client.open(1, files[n] as string);
  const events = await dial();
  await events.open(1, "eventwait");
  await kernel.fs.write(`/${A}/prompt`, "go");
  for (const client of clients) await follow(client, 1, 0, (tail) => tail.includes("all is well"));
  let lines = "";
  while (!lines.endsWith("idle\n")) lines += textOf(await events.ask(read(1, 1)));
  expect(lines).not.toContain("resync");
  // Values are refused, not rounded: 2^70 is named as it came.
  expect(await kernel.fs.read(`/${A}/log`)).toContain("all is well");
  const raw_ = await readAll(clients[1] as Raw, files[1] as string);
  expect(raw_).toContain("1180591620717411303424, which can not be kept exactly");
  expect(raw_).toContain("nested deeper than 200 levels");
  // Later events arrive.
  events.send(read(1, 1));
  await kernel.fs.write(`/${A}/prompt`, "again");
  expect(textOf(await events.next())).toContain("thinking");
}, 60_000);

async function readAll(client: Raw, path: string): Promise<string> {
  await client.open(9, path);
  let text = "";
  await follow(client, 9, 0, (tail) => tail.includes("all is well"), { update: (part: string) => (text += part) });
  return text;
}
