/** The kernel inside another program: nothing but what is asked for, and nothing left behind. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { duplexPair } from "node:stream";
import { build } from "esbuild";
import { clientOver } from "ollie/client";
import { describe, expect, test } from "vitest";
import { createKernel, leaf, Root, token } from "#core";
import { kernelOf, plug, started } from "./kit.ts";

const hello = (name: string, text = name) =>
  plug(name, ({ mount }) => mount(Root, leaf(name, { doc: "x", read: () => text })));

describe("a kernel with", () => {
  test("no plugin serves an empty root", async () => {
    const k = await started([]);
    expect(await k.fs.ls("/")).toEqual([]);
    expect(await k.fs.stat("/")).toMatchObject({ dir: true, mode: 0o555, uid: "glenda" });
    expect(k.status()).toEqual([]);
  });

  test("one plugin serves it", async () => {
    const k = await started([hello("a")]);
    expect(await k.fs.read("/a")).toBe("a");
  });

  test("three plugins serves them all", async () => {
    const k = await started([hello("a"), hello("b"), hello("c")]);
    expect(await k.fs.ls("/")).toEqual(["a", "b", "c"]);
  });
});

test("several kernels in one process know nothing of each other", async () => {
  const Name = token<string>("name");
  const use = plug(
    "one",
    ({ mount, state, provide }) => {
      const count = state(Root, () => ({ n: 0 }));
      provide(Name, "x");
      mount(Root, leaf("count", { doc: "x", read: (c) => `${++count(c).n}` }));
    },
    { provides: [Name] },
  );
  // The very same use, twice.
  const [a, b] = [await started([use]), await started([use])];
  expect([await a.fs.read("/count"), await a.fs.read("/count"), await b.fs.read("/count")]).toEqual(["1", "2", "1"]);
  await a.close();
  expect([a.use(Name), b.use(Name)]).toEqual([undefined, "x"]);
  expect(await b.fs.read("/count")).toBe("2");
});

test("no listener is put on the process, nor left there", async () => {
  const counts = () => Object.fromEntries(process.eventNames().map((name) => [name, process.listenerCount(name)]));
  const before = counts();
  const k = createKernel({ plugins: [hello("a"), plug("b", ({ every }) => every(1000, () => {}))] });
  await k.start();
  await k.fs.read("/a");
  expect(counts()).toEqual(before);
  await k.close();
  expect(counts()).toEqual(before);
});

test("await using closes it", async () => {
  let ended = false;
  {
    await using k = kernelOf([
      plug("a", ({ defer }) =>
        defer(() => {
          ended = true;
        }),
      ),
    ]);
    await k.start();
    expect(ended).toBe(false);
  }
  expect(ended).toBe(true);
});

test("it serves a connection over any stream pair, and hangs up at the end", async () => {
  const k = await started([hello("a", "over a pipe")]);
  const [near, far] = duplexPair();
  k.serve(far);
  const client = await clientOver(near);
  expect(Buffer.from(await client.read("a")).toString()).toBe("over a pipe");
  await k.close();
  expect(far.destroyed).toBe(true);
});

test("importing all stock plugins does nothing: no listener, no handle, no word", () => {
  // What Node itself needs to read modules is not ours.
  const program = `const held = () => process.getActiveResourcesInfo().filter((name) => !/^(CloseReq|FSReq)/.test(name));
    const now = () => String([process.eventNames().length, ...held()]);
    const before = now();
    const { default: config } = await import(process.argv[1]);
    process.exitCode = config.plugins.length > 5 && before === now() ? 0 : 1;`;
  const config = join(import.meta.dirname, "../../dist/ollie.config.js");
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", program, config], {
    encoding: "utf8",
    timeout: 15_000,
  });
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: "", stderr: "" });
});

test("a program that bundles it ends by itself when the kernel is closed", async () => {
  const dir = mkdtempSync(join(tmpdir(), "ollie-embed-"));
  try {
    const program = `import { createKernel, definePlugin, leaf, Root } from "ollie";
      const hello = definePlugin({ name: "hello", doc: "Hello.", setup({ mount, every }) {
        every(10, () => {});
        mount(Root, leaf("hello", { doc: "x", read: () => "hello, world" }));
      } });
      const k = createKernel({ plugins: [hello()] });
      await k.start();
      process.stdout.write(await k.fs.read("/hello"));
      await k.close();`;
    await build({
      stdin: { contents: program, resolveDir: join(import.meta.dirname, "../..") },
      bundle: true,
      platform: "node",
      format: "esm",
      conditions: ["source"],
      // tapable is CommonJS and asks for node:util by require.
      banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
      outfile: join(dir, "program.mjs"),
    });
    writeFileSync(join(dir, "package.json"), "{}");
    const options = { cwd: dir, encoding: "utf8", env: {}, timeout: 15_000 } as const;
    expect(execFileSync(process.execPath, ["program.mjs"], options)).toBe("hello, world");
  } finally {
    rmSync(dir, { recursive: true });
  }
});
