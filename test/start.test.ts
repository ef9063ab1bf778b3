/** What the start of the built programs loads. Not a timing: see test/bench for those. */
import { spawn, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";

const dist = join(import.meta.dirname, "../dist");
const daemon = join(dist, "core/bin/olliesrv.js");
const client = join(dist, "bin/ollie-9p.cjs");

/** Preloaded: at the end it tells what Node has loaded, in files of the disk and of its own. */
const probe = `
process.on("exit", () => {
  const { bundles } = require(${JSON.stringify(join(dist, "load.cjs"))});
  require("node:fs").writeFileSync(process.env.LOADED, JSON.stringify({
    files: Object.keys(require.cache),
    builtin: process.moduleLoadList.filter((name) => name.startsWith("NativeModule ")).map((name) => name.slice(13)),
    bundles: [...bundles].map(([name, { script }]) => [name, script.cachedDataRejected]),
  }));
});
`;

interface Loaded {
  files: string[];
  builtin: string[];
  /** Name, and whether its kept code was refused (undefined: there was none). */
  bundles: [string, boolean | undefined][];
}

function place() {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "o-")));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  mkdirSync(join(dir, "ns"), { mode: 0o700 });
  writeFileSync(join(dir, "probe.cjs"), probe);
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: dir,
    NAMESPACE: join(dir, "ns"),
    OLLIE_BACKEND: "script",
    LOADED: join(dir, "loaded.json"),
  };
  const loaded = (): Loaded => {
    const all = JSON.parse(readFileSync(env.LOADED, "utf8")) as Loaded;
    return { ...all, files: all.files.filter((file) => !file.startsWith(dir)).map((file) => relative(dist, file)) };
  };
  return { dir, env, loaded, socket: join(dir, "ns/ollie") };
}

async function until(done: () => boolean): Promise<void> {
  for (let n = 0; !done(); n++) {
    if (n > 2000) throw new Error("waited in vain");
    await sleep(10);
  }
}

/** What Node loads for a program that needs koffi and nothing else. */
function loadedForKoffi(): string[] {
  const { dir, env, loaded } = place();
  const koffi = createRequire(import.meta.url).resolve("koffi");
  writeFileSync(join(dir, "koffi.cjs"), `require(${JSON.stringify(koffi)});\n`);
  spawnSync(process.execPath, ["-r", join(dir, "probe.cjs"), join(dir, "koffi.cjs")], { env });
  return loaded().builtin;
}

it("the daemon's start loads no library, none of Node's dear modules, and the code that was kept; its first answer koffi", async () => {
  const { dir, env, loaded, socket } = place();
  const child = spawn(process.execPath, ["-r", join(dir, "probe.cjs"), daemon, "fgstart"], {
    cwd: dir,
    env,
    stdio: "ignore",
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const ended = new Promise((resolve) => child.once("exit", resolve));
  await until(() => existsSync(socket));
  const help = spawnSync(process.execPath, [client, "read", "help"], { env, encoding: "utf8" });
  child.kill("SIGTERM");
  await ended;
  expect(help.stdout).toContain("session/");
  const { files, builtin, bundles } = loaded();
  // Who asks for the first answer is looked at with it.
  const [koffi, own] = [true, false].map((is) => files.filter((file) => file.includes("koffi") === is));
  expect(own?.sort()).toEqual(["core/bin/olliesrv.js", "load.cjs", "ollie.config.cjs"]);
  expect(koffi).not.toEqual([]);
  expect(bundles).toEqual([
    ["core/core", false],
    ["plugins/stock", false],
  ]);
  expect(builtin).toContain("net");
  const dear = [
    "crypto",
    "internal/fs/promises",
    "http",
    "https",
    "tls",
    "zlib",
    "worker_threads",
    "readline",
    "internal/modules/esm/translators",
  ];
  // Node 24 loads some of its own accord.
  expect(builtin.filter((name) => dear.includes(name) && !loadedForKoffi().includes(name))).toEqual([]);
});

it("olliesrv status loads core alone", () => {
  const { dir, env, loaded } = place();
  spawnSync(process.execPath, ["-r", join(dir, "probe.cjs"), daemon, "status"], { cwd: dir, env });
  expect(loaded().bundles).toEqual([["core/core", false]]);
});

it("ollie-9p is one small bundle with the code that was kept", () => {
  const { dir, env, loaded } = place();
  expect(statSync(join(dist, "bin/client.cjs")).size).toBeLessThan(40_000);
  // As bin/ollie-9p.cjs does it, which has a load.cjs of its own that nobody can ask.
  writeFileSync(join(dir, "start.cjs"), `require(${JSON.stringify(join(dist, "load.cjs"))})("bin/client");\n`);
  spawnSync(process.execPath, ["-r", join(dir, "probe.cjs"), join(dir, "start.cjs"), "--help"], { cwd: dir, env });
  expect(loaded().bundles).toEqual([["bin/client", false]]);
  const source = [client, join(dist, "bin/client.cjs")].map((file) => readFileSync(file, "utf8")).join("");
  const wanted = [...source.matchAll(/\b(?:require|import)\("([^"]+)"\)/g)].map(([, name]) => name);
  expect(new Set(wanted)).toEqual(new Set(["node:buffer", "node:fs", "node:net", "node:path", "node:vm"]));
});

it("import of ollie and a kernel load core alone, and as little of Node", () => {
  const { dir, env, loaded } = place();
  writeFileSync(
    join(dir, "embed.mjs"),
    `import { createKernel, definePlugin, leaf, Root } from ${JSON.stringify(join(dist, "core/index.js"))};
     const note = definePlugin({ name: "note", doc: "d", setup: (api) => api.mount(Root, leaf("note", { doc: "d", read: () => "" })) });
     const kernel = createKernel({ plugins: [note()] });
     await kernel.start();
     await kernel.fs.read("/note");
     await kernel.close();\n`,
  );
  const { stderr } = spawnSync(process.execPath, ["-r", join(dir, "probe.cjs"), join(dir, "embed.mjs")], {
    cwd: dir,
    env,
    encoding: "utf8",
  });
  expect(stderr).toBe("");
  const { builtin, bundles } = loaded();
  expect(bundles).toEqual([["core/core", false]]);
  const dear = ["internal/deps/cjs-module-lexer/lexer", "perf_hooks", "internal/abort_controller", "net", "crypto"];
  expect(builtin.filter((name) => dear.includes(name))).toEqual([]);
});

it("the bundles hold no library whole", () => {
  expect(statSync(join(dist, "core/core.cjs")).size).toBeLessThan(150_000);
  expect(statSync(join(dist, "plugins/stock.cjs")).size).toBeLessThan(500_000);
});

it("a daemon in the background works in /, with what was relative where it was started", () => {
  const { dir, env } = place();
  writeFileSync(join(dir, "own.mjs"), `export default { plugins: [] };\n`);
  const relative = { ...env, OLLIE_DATA_PATH: "data", NAMESPACE: "ns" };
  const run = (...args: string[]) =>
    spawnSync(process.execPath, [daemon, ...args], { cwd: dir, env: relative, encoding: "utf8" });
  const started = run("start", "--config", "own.mjs");
  const pid = Number(/pid (\d+)/.exec(started.stdout)?.[1]);
  try {
    expect(started.stderr).toBe("");
    expect(readlinkSync(`/proc/${pid}/cwd`)).toBe("/");
    expect(existsSync(join(dir, "data/log/olliesrv.log"))).toBe(true);
    expect(run("status").stdout).toMatch(/^olliesrv runs/);
  } finally {
    if (pid) process.kill(pid, "SIGTERM");
  }
});
