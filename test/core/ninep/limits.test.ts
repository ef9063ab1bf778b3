/** What one connection, and all of them, can ask for. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, test } from "vitest";
import { encode, NOTAG, type Tmsg } from "../../../core/ninep/codec.ts";
import { limits } from "../../../core/ninep/limits.ts";
import { raw } from "./raw.ts";
import { serving, settle } from "./serving.ts";

const range = (count: number) => Array.from({ length: count }, (_, n) => n);

test("16,384 fids of one connection; another has its own", async () => {
  const { dial } = await serving();
  const client = await dial();
  const walk = (newfid: number, tag = 1): Tmsg => ({ type: "Twalk", tag, fid: 0, newfid, wname: ["hello"] });
  client.send(...range(limits.fids - 1).map((n) => walk(n + 1, n)));
  expect((await client.take(limits.fids - 1)).every(({ type }) => type === "Rwalk")).toBe(true);
  const ename = "fids: more than the limit of 16384 fids of one connection";
  expect(await client.ask(walk(20_000))).toMatchObject({ type: "Rerror", ename });
  const attach: Tmsg = { type: "Tattach", tag: 1, fid: 20_000, afid: 0xffffffff, uname: "glenda", aname: "" };
  expect(await client.ask(attach)).toMatchObject({ type: "Rerror", ename });
  // A walk to the same fid takes none.
  expect(await client.ask({ type: "Twalk", tag: 1, fid: 0, newfid: 0, wname: [] })).toMatchObject({ type: "Rwalk" });
  const other = await dial();
  expect(await other.ask(walk(1))).toMatchObject({ type: "Rwalk" });
  await client.ask({ type: "Tclunk", tag: 1, fid: 1 });
  expect(await client.ask(walk(20_000))).toMatchObject({ type: "Rwalk" });
});

test("65,534 requests in flight on one connection", async () => {
  const { dial, strings } = await serving();
  const client = await dial();
  await client.open(1, "news");
  const read = (tag: number): Tmsg => ({ type: "Tread", tag, fid: 1, offset: 0, count: 10 });
  client.send(...range(limits.requests).map(read));
  expect(await client.ask({ type: "Tstat", tag: limits.requests, fid: 0 })).toEqual({
    type: "Rerror",
    tag: limits.requests,
    ename: "requests: more than the limit of 65534 requests in flight on one connection",
  });
  strings.publish("x");
  expect(await client.next()).toMatchObject({ type: "Rread", tag: 0 });
  expect(await client.ask({ type: "Tstat", tag: limits.requests, fid: 0 })).toMatchObject({ type: "Rstat" });
  // All of them end with their fid.
  client.send({ type: "Tclunk", tag: 0, fid: 1 });
  expect((await client.take(limits.requests)).filter(({ type }) => type === "Rerror")).toHaveLength(
    limits.requests - 1,
  );
});

test("4,096 connections; the next one is told so in place of Rversion", async () => {
  const { path } = await serving();
  const sockets: Socket[] = [];
  while (sockets.length < limits.connections) {
    // The system queues as many as it likes that are not accepted yet.
    const some = range(128).map(() => connect(path));
    await Promise.all(some.map((socket) => once(socket, "connect")));
    for (const socket of some) socket.on("error", () => {});
    sockets.push(...some);
  }
  await settle();
  const late = raw(connect(path));
  expect(await late.ask({ type: "Tversion", tag: NOTAG, msize: 8192, version: "9P2000" })).toEqual({
    type: "Rerror",
    tag: NOTAG,
    ename: "connections: more than the limit of 4096 connections",
  });
  expect(await late.next()).toBeUndefined();
  for (const socket of sockets) socket.destroy();
  await settle(50);
  const again = raw(connect(path));
  await again.hello();
  again.duplex.destroy();
}, 60_000);

test("requests of a client that does not read are not heard, and cost no memory", async () => {
  const { dial } = await serving();
  const client = await dial();
  await client.open(1, "long");
  client.duplex.pause();
  const before = process.memoryUsage().arrayBuffers;
  // 3,000 requests of 23 bytes ask for 196 MB.
  const read: Tmsg = { type: "Tread", tag: 0, fid: 1, offset: 0, count: 65536 };
  client.send(...range(3000).map((tag) => ({ ...read, tag })));
  await settle(100);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(limits.unsent + (2 << 20));
  // Others are served meanwhile.
  const other = await dial();
  expect(await other.ask({ type: "Tstat", tag: 1, fid: 0 })).toMatchObject({ type: "Rstat" });
  client.duplex.resume();
  const replies = await client.take(3000);
  expect(replies.every((one, tag) => one.type === "Rread" && one.tag === tag && one.data.length === 65536)).toBe(true);
});

test("blocked reads of a client that does not read leave their data where it is", async () => {
  const { dial, strings } = await serving();
  const client = await dial();
  const fids = range(500).map((n) => n + 1);
  for (const fid of fids) await client.open(fid, "news");
  client.duplex.pause();
  client.send(...fids.map((fid): Tmsg => ({ type: "Tread", tag: fid, fid, offset: 0, count: 65536 })));
  await settle();
  const before = process.memoryUsage().arrayBuffers;
  strings.publish("y".repeat(60_000));
  await settle();
  // 500 replies are 30 MB. What is unsent is there as records and as bytes.
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 * limits.unsent + (4 << 20));
  client.duplex.resume();
  const replies = await client.take(500);
  expect(replies.every((one) => one.type === "Rread" && one.data.length === 60_000)).toBe(true);
});

test("writes that wait behind a slow one stop the reading of more, until it is over", async () => {
  const { dial, strings } = await serving();
  const client = await dial();
  await client.open(1, "slow", 1);
  const before = process.memoryUsage().arrayBuffers;
  const data = Buffer.alloc(60_000, "z");
  client.send(...range(200).map((tag): Tmsg => ({ type: "Twrite", tag, fid: 1, offset: 0, data })));
  await settle(50);
  // 12 MB wait; they are on this process's sending side, too.
  expect(strings.held).toHaveLength(1);
  for (let n = 0; n < 200; n++) {
    strings.release();
    expect(await client.next()).toMatchObject({ type: "Rwrite", tag: n, count: 60_000 });
  }
  expect(strings.slow).toHaveLength(200);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(32 << 20);
});

test("a waiting queue is as long as it gets: no message is lost or turned round, and no stack is too deep", async () => {
  const { dial, strings } = await serving();
  const client = await dial();
  await client.open(1, "slow", 1);
  client.send(
    { type: "Twrite", tag: 60_000, fid: 1, offset: 0, data: Buffer.from("x") },
    { type: "Tclunk", tag: 60_001, fid: 1 },
  );
  // Each flushes the one before: all wait for the clunk.
  client.send(...range(60_000).map((tag): Tmsg => ({ type: "Tflush", tag, oldtag: tag === 0 ? 60_001 : tag - 1 })));
  await settle();
  strings.release();
  expect((await client.take(2)).map(({ type }) => type)).toEqual(["Rwrite", "Rclunk"]);
  const flushes = await client.take(60_000);
  expect(flushes.every((one, tag) => one.type === "Rflush" && one.tag === tag)).toBe(true);
  await client.open(2, "box/one/text", 1);
  await client.open(3, "slow", 1);
  // 60,000 stats behind one write of the same fid.
  client.send(
    { type: "Twrite", tag: 60_000, fid: 3, offset: 0, data: Buffer.from("x") },
    ...range(60_000).map((tag): Tmsg => ({ type: "Tstat", tag, fid: 3 })),
  );
  await settle();
  strings.release();
  const stats = await client.take(60_001);
  expect(stats.slice(1).every((one, tag) => one.type === "Rstat" && one.tag === tag)).toBe(true);
});

test("a half-closed connection gets the answers to what it asked", async () => {
  const { path } = await serving();
  const one = raw(connect({ path, allowHalfOpen: true }));
  await one.hello();
  one.duplex.end(encode({ type: "Tstat", tag: 7, fid: 0 }));
  expect(await one.next()).toMatchObject({ type: "Rstat", tag: 7 });
  expect(await one.next()).toBeUndefined();
});
