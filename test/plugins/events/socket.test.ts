/** eventwait over a real socket. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createKernel, definePlugin, leaf, NineError, Root } from "#core";
import { connect } from "#core/client";
import { Events } from "#plugins/events";
import events from "../../../plugins/events/index.ts";

const throws = (error: Error) => () => {
  throw error;
};

async function serve() {
  const dir = mkdtempSync(join(tmpdir(), "ollie-test-"));
  let bus: Events | undefined;
  const taker = definePlugin({
    name: "taker",
    doc: "Hands the service to the test.",
    needs: [Events],
    setup(api) {
      bus = api.use(Events);
      api.mount(Root, leaf("box", { doc: "A box.", commit: "close", write: throws(new NineError("box: it is full")) }));
      api.mount(Root, leaf("broken", { doc: "Gives nothing.", read: throws(new Error("oh")) }));
    },
  });
  const kernel = createKernel({ plugins: [events(), taker()] });
  onTestFinished(async () => {
    await kernel.close();
    rmSync(dir, { recursive: true });
  });
  await kernel.start();
  const { address } = await kernel.listen({ unix: join(dir, "s") });
  const client = await connect(address);
  onTestFinished(() => client.close());
  return { client, bus: bus as unknown as Events };
}

test("a fid that reads at offset 0 again and again misses nothing", async () => {
  const { client, bus } = await serve();
  const file = await client.open("eventwait");
  const got: string[] = [];
  let sent = 0;
  while (got.length < 200) {
    const burst = 1 + (sent % 7);
    const answer = file.read(8192, 0);
    for (let n = 0; n < burst; n++) bus.publish("t", `${sent++}`);
    const text = (await answer).toString();
    expect(text.endsWith("\n")).toBe(true);
    got.push(...text.trimEnd().split("\n"));
    const end = await file.read(8192, Buffer.byteLength(text));
    expect(end).toHaveLength(0);
  }
  expect(got).toEqual(Array.from({ length: got.length }, (_, n) => `${n}`));
});

test("a reader that waits delays no other request and gets the event that comes", async () => {
  const { client, bus } = await serve();
  const waiting = client.read("eventwait");
  await client.stat("eventwait");
  bus.publish("t", "now");
  expect((await waiting).toString()).toBe("now\n");
});

test("what is lost, or fails in a plugin's code, is an event", async () => {
  const { client } = await serve();
  const file = await client.open("eventwait");
  const next = async () => (await file.read(8192, 0)).toString();
  await expect(client.write("box", "thing")).rejects.toThrow("it is full");
  expect(await next()).toBe("E box box: 5 bytes were dropped: box: it is full\n");
  await expect(client.read("broken")).rejects.toThrow("oh");
  expect(await next()).toBe("E plugins/taker read /broken: oh\n");
});
