/** What an idle connection costs: a server in a process of its own, so that nothing else is in the sum. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { expect, onTestFinished, test } from "vitest";
import { type Raw, raw } from "./raw.ts";

const core = new URL("../../../core/index.ts", import.meta.url).pathname;
const server = (socket: string) => `
  import { createKernel, definePlugin, leaf, Root } from ${JSON.stringify(core)};
  const files = definePlugin({
    name: "files",
    doc: "One file.",
    setup: ({ mount }) => mount(Root, leaf("file", { doc: "static", read: () => "text" })),
  });
  const kernel = createKernel({ plugins: [files()] });
  await kernel.start();
  await kernel.listen({ unix: ${JSON.stringify(socket)} });
  process.on("message", () => {
    gc(); gc();
    process.send(process.memoryUsage().rss);
  });
  process.send("up");
`;

test("1,000 idle connections cost under 20 KB each", async () => {
  const folder = mkdtempSync(join(tmpdir(), "9m-"));
  const clients: Raw[] = [];
  let child: ChildProcess | undefined;
  onTestFinished(() => {
    for (const one of clients) one.duplex.destroy();
    child?.kill();
    rmSync(folder, { recursive: true, force: true });
  });
  const socket = join(folder, "s");
  writeFileSync(join(folder, "in.ts"), server(socket));
  await build({
    entryPoints: [join(folder, "in.ts")],
    outfile: join(folder, "out.mjs"),
    bundle: true,
    platform: "node",
    format: "esm",
    conditions: ["source"],
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
    logLevel: "error",
  });
  child = spawn(process.execPath, ["--expose-gc", join(folder, "out.mjs")], { stdio: ["ignore", 2, 2, "ipc"] });
  const [up] = await once(child, "message");
  expect(up).toBe("up");
  const rss = async (): Promise<number> => {
    child?.send("rss");
    return (await once(child as ChildProcess, "message"))[0] as number;
  };
  const open = async (count: number) => {
    for (let n = 0; n < count; n++) {
      const one = raw(connect(socket));
      clients.push(one);
      await one.hello();
      await one.open(1, "file");
      await one.ask({ type: "Tread", tag: 1, fid: 1, offset: 0, count: 100 });
    }
  };
  // What the first ones cost is code and pools.
  await open(300);
  const before = await rss();
  await open(1000);
  const each = ((await rss()) - before) / 1000;
  expect(each).toBeLessThan(20 * 1024);
}, 60_000);
