// Parts of toolsrv, bundled from the sources as the build does it, to be measured in the process of the bench.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "../../data/scripts/setup.mjs";
import { atEnd } from "./cleanup.mjs";

const exported = `
  export { loadLibc } from "./plugins/toolsrv/libc.ts";
  export { processes } from "./plugins/toolsrv/processes.ts";
  export { supervisor } from "./plugins/toolsrv/supervise.ts";
  export { tmpDirs } from "./plugins/toolsrv/tmp.ts";
  export { run } from "./plugins/toolsrv/server/run.ts";
  export { children } from "./plugins/toolsrv/server/children.ts";
  export { createSpawner } from "./plugins/toolsrv/server/spawn.ts";
  export { confinedSpawner } from "./plugins/sandbox-landlock/spawner.ts";
`;

export async function parts() {
  const { build } = await import("esbuild");
  const dir = join(root, "node_modules/.cache/ollie-bench");
  mkdirSync(dir, { recursive: true });
  const outfile = join(dir, `toolsrv-${process.pid}.mjs`);
  await build({
    stdin: { contents: exported, resolveDir: root, loader: "ts" },
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20.19",
    conditions: ["source"],
    external: ["koffi"],
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
    logLevel: "error",
  });
  try {
    return await import(pathToFileURL(outfile).href);
  } finally {
    rmSync(outfile);
  }
}

/** What every tool call is held against. */
export const bareSpawn = () =>
  new Promise((resolve, reject) => {
    const child = spawn("/bin/sh", ["-c", "true"]);
    child.on("error", reject);
    child.on("close", () => resolve());
  });

/** Runs command lines as toolsrv does, in this process, unconfined but by `thread`; `native: false`: as it does without koffi. */
export async function runner({ native = true } = {}) {
  const { loadLibc, children, confinedSpawner, createSpawner, run } = await parts();
  const { libc } = await loadLibc();
  if (!libc) throw new Error("koffi is missing: npm ci");
  const means = native ? { libc, children: children(libc) } : undefined;
  const spawner = createSpawner(means);
  // What was started beside Node does not keep this process alive.
  const hold = setInterval(() => {}, 60_000);
  atEnd(() => clearInterval(hold));
  atEnd(() => means?.children.close());
  const signal = new AbortController().signal;
  const env = { PATH: process.env.PATH, HOME: "/", OLLIE_SESSION: "bench", TMPDIR: tmpdir() };
  const sh = (command, by = spawner) => {
    const cookie = `${randomUUID()}.1.`;
    const program = { exec: "/bin/sh", argv: ["-c", command], stdin: "{}\n", env, cwd: "/tmp" };
    return run({ ...program, timeout: 0, cookie }, by, { signal });
  };
  /** A thread that is confined to `rules`, of the build's program, and command lines run by it. */
  const thread = async (rules) => {
    const confined = await confinedSpawner(pathToFileURL(join(root, "dist/toolsrv.js")), rules);
    const own = createSpawner(means, confined.start);
    return { sh: (command) => sh(command, own), close: confined.close };
  };
  return { sh, thread };
}

/** A daemon's side: sessions that run tools in a toolsrv of the build. */
export async function tools() {
  const { supervisor, processes, tmpDirs } = await parts();
  const dir = mkdtempSync(join(tmpdir(), "ollie-b-"));
  const supervised = supervisor({
    entry: join(root, "dist/toolsrv.js"),
    toolDirs: () => [join(root, "data/tools")],
    tmp: tmpDirs(join(dir, "tmp")),
    processes: processes({ keep: 600_000, limit: 256 }),
    idle: 600_000,
    startLimit: 60_000,
  });
  atEnd(async () => {
    await supervised.close();
    rmSync(dir, { recursive: true, force: true });
  });
  const signal = new AbortController().signal;
  const names = { agent: randomUUID(), sessionName: "s", agentName: "a", callId: "c", tool: "shell" };
  return {
    shell: (session, command) =>
      supervised.call({ session, ...names, args: { command }, cwd: dir, env: {}, timeout: 0 }, { signal }),
    end: (session) => supervised.end(session),
  };
}

/** MB of a process: now, or at most so far. */
export function megabytes(pid, field) {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(status)[1]) / 1024;
}
