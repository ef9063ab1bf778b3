/** Many readers, slow ones, and ones that vanish, over real sockets. */
import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { bus, definePlugin, leaf, Root, waiters } from "#core";
import type { Rmsg, Tmsg } from "../../../core/ninep/codec.ts";
import type { Raw } from "./raw.ts";
import { serving, settle } from "./serving.ts";

const range = (count: number) => Array.from({ length: count }, (_, n) => n);
const read = (fid: number, tag: number, offset = 0): Tmsg => ({ type: "Tread", tag, fid, offset, count: 8192 });
const texts = (replies: (Rmsg | undefined)[]) =>
  new Set(replies.map((one) => one?.type === "Rread" && String(one.data)));

/** Files whose readers can be counted. */
function counted() {
  const news = bus();
  const changed = waiters();
  const use = definePlugin({
    name: "counted",
    doc: "Counts who waits.",
    setup({ mount }) {
      mount(
        Root,
        leaf("stream", { doc: "a bus", stream: () => news.subscribe() }),
        leaf("generator", {
          doc: "a generator over the same",
          async *stream(c) {
            yield* news.subscribe(c.signal);
          },
        }),
        leaf("once", {
          doc: "one answer",
          blockOnce: (c) =>
            new Promise<string>((resolve) => {
              const undo = changed.add(() => resolve("now\n"));
              c.signal.addEventListener("abort", undo, { once: true });
            }),
        }),
      );
    },
  })();
  return { use, news, changed };
}

test.each(["stream", "generator", "once"])(
  "10,000 readers blocked on %s are woken by one write",
  async (file) => {
    const { use, news, changed } = counted();
    const { dial } = await serving(use);
    const waiting = () => (file === "once" ? changed.size : news.size);
    const wake = () => (file === "once" ? changed.wakeAll() : news.publish("now\n"));

    const one = await dial();
    const fids = range(10_000).map((n) => n + 1);
    one.send(
      ...fids.flatMap((fid): Tmsg[] => [
        { type: "Twalk", tag: fid, fid: 0, newfid: fid, wname: [file] },
        { type: "Topen", tag: 10_000 + fid, fid, mode: 0 },
      ]),
    );
    await one.take(20_000);
    one.send(...fids.map((fid) => read(fid, fid)));
    await expect.poll(waiting).toBe(10_000);
    await settle();
    wake();
    const replies = await one.take(10_000);
    expect(texts(replies)).toEqual(new Set(["now\n"]));
    expect(new Set(replies.map(({ tag }) => tag)).size).toBe(10_000);
    one.duplex.destroy();
    await expect.poll(waiting).toBe(0);

    const many: Raw[] = [];
    for (let n = 0; n < 200; n++) many.push(await dial());
    for (const client of many) {
      for (const fid of range(50)) await client.open(fid + 1, file);
      client.send(...range(50).map((n) => read(n + 1, n)));
    }
    await expect.poll(waiting).toBe(10_000);
    await settle();
    wake();
    const all = await Promise.all(many.map((client) => client.take(50)));
    expect(texts(all.flat())).toEqual(new Set(["now\n"]));
  },
  60_000,
);

test("H-093: 1,000 readers that vanish leave no waiter, no descriptor and no warning", async () => {
  const { use, news, changed } = counted();
  const { dial } = await serving(use);
  const warnings: Error[] = [];
  const warn = (warning: Error) => warnings.push(warning);
  process.on("warning", warn);
  const first = await dial();
  const descriptors = () => readdirSync("/proc/self/fd").length;
  const start = descriptors();
  for (let round = 0; round < 1000; round++) {
    const client = await dial();
    for (const [n, file] of ["stream", "generator", "once"].entries()) await client.open(n + 1, file);
    client.send(read(1, 1), read(2, 2), read(3, 3), read(3, 4));
    await new Promise((done) => setImmediate(done));
    client.duplex.destroy();
  }
  await expect.poll(() => [news.size, changed.size]).toEqual([0, 0]);
  await expect.poll(descriptors).toBe(start);
  expect(await first.ask({ type: "Tstat", tag: 1, fid: 0 })).toMatchObject({ type: "Rstat" });
  process.off("warning", warn);
  expect(warnings).toEqual([]);
}, 60_000);
