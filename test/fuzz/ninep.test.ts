/**
 * The 9P server against clients that send anything. A fixed seed and a few hundred connections in the suite; `npm run fuzz`
 * goes on for a minute with a new seed, which a failure names: FUZZ_SEED repeats it.
 */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect as dial, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createKernel, type ListenOptions, type Logger, silent } from "#core";
import { connect } from "#core/client";
import { decode, type Msg } from "../../core/ninep/codec.ts";
import { framer } from "../../core/ninep/frame.ts";
import { judge, testTree } from "../kit/tree.ts";
import { type Attack, attack } from "./ninep.ts";
import { type Random, randomOf } from "./random.ts";

const seconds = Number(process.env.FUZZ_SECONDS ?? 0);
const seed = Number(process.env.FUZZ_SEED ?? (seconds > 0 ? Date.now() % 1_000_000 : 1));

test(
  `H-098: whatever a connection sends, only it ends, and nothing is kept of it (FUZZ_SEED=${seed})`,
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "fuzz-"));
    const { strings, plugin } = testTree();
    const warnings: string[] = [];
    const log: Logger = { ...silent, error: (text) => void warnings.push(text), child: () => log };
    const kernel = createKernel({ plugins: [plugin], user: "glenda", log });
    onTestFinished(async () => {
      await kernel.close();
      rmSync(folder, { recursive: true, force: true });
    });
    await kernel.start();
    const path = join(folder, "s");
    await kernel.listen({ unix: path }, { judge: judge(strings) } as ListenOptions);
    const witness = await connect(path, { uname: "glenda" });
    const start = await open("/proc/self/fd");
    const memory = process.memoryUsage().arrayBuffers;

    const random = randomOf(seed);
    const until = Date.now() + seconds * 1000;
    for (let round = 0; round < 40 || Date.now() < until; round++) {
      const attacks = Array.from({ length: 25 }, () => attack(random));
      await Promise.all(attacks.map((one) => play(path, one, random)));
      strings.publish(`round ${round}`);
      strings.set(`round ${round}`);
      while (strings.held.length > 0) strings.release();
      expect((await witness.read("hello")).toString()).toBe("hello, world\n");
      // What was removed is put back.
      strings.boxes.set("one", { id: "1", name: "one", text: "" });
    }
    // Half a megabyte a connection would be 500 MB by now.
    expect(process.memoryUsage().arrayBuffers - memory).toBeLessThan(64 << 20);
    await expect.poll(() => open("/proc/self/fd"), { timeout: 5000 }).toBe(start);
    // The server's own faults would be here; a handler that throws is one of the test tree's.
    expect(warnings.filter((text) => !/broken|dropped/.test(text))).toEqual([]);
    await witness.close();
  },
  Math.max(30_000, seconds * 2000),
);

async function open(folder: string): Promise<number> {
  const { readdir } = await import("node:fs/promises");
  return (await readdir(folder)).length;
}

/** Sends an attack in pieces, looks at the replies, and ends the connection in one of the ways that there are. */
async function play(path: string, { bytes, requests }: Attack, random: Random): Promise<void> {
  const socket = dial(path);
  const owed = new Map<number, number>();
  for (const { tag } of [{ tag: 0 }, { tag: 0xffff }, ...(requests ?? [])]) owed.set(tag, (owed.get(tag) ?? 0) + 1);
  const faults: string[] = [];
  const seen = (msg: Msg) => {
    if (!msg.type.startsWith("R")) faults.push(`${msg.type} came from the server`);
    const left = owed.get(msg.tag) ?? 0;
    if (requests && left === 0) faults.push(`a reply too many for tag ${msg.tag}: ${msg.type}`);
    owed.set(msg.tag, left - 1);
  };
  const frames = framer(
    (buf, from, to) => seen(decode(buf, from, to)),
    () => 1 << 20,
  );
  socket.on("error", () => {});
  socket.on("data", (chunk: Buffer) => frames.push(chunk));
  await once(socket, "connect");
  const gone = new Promise((done) => socket.once("close", done));
  const size = random.pick([1, 7, 50, 5000, 5000]);
  const ending = random.int(3);
  for (let at = 0; at < bytes.length && !socket.destroyed; at += size) {
    socket.write(bytes.subarray(at, at + size));
    if (random.int(size < 50 ? 200 : 4) === 0) await new Promise((done) => setImmediate(done));
  }
  if (ending === 0) socket.destroy();
  else if (ending === 1) socket.end();
  else await settled(socket);
  socket.destroy();
  await gone;
  expect(faults).toEqual([]);
}

/** Some turns of the loop, so that what is under way arrives. */
async function settled(socket: Socket): Promise<void> {
  for (let n = 0; n < 10 && !socket.destroyed; n++) await new Promise((done) => setImmediate(done));
}
