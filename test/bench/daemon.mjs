// A daemon of its own for a row: a fresh home, a fresh name space, the scripted backend.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "../../data/scripts/setup.mjs";

export function place() {
  const dir = mkdtempSync(join(tmpdir(), "ollie-b-"));
  const ns = join(dir, "ns");
  mkdirSync(ns, { mode: 0o700 });
  const env = { PATH: process.env.PATH, HOME: dir, TMPDIR: dir, NAMESPACE: ns, OLLIE_BACKEND: "script" };
  return { dir, env, socket: join(ns, "ollie"), remove: () => rmSync(dir, { recursive: true, force: true }) };
}

export function spawnDaemon({ dir, env }) {
  const daemon = spawn(process.execPath, [join(root, "dist/core/bin/olliesrv.js"), "fgstart"], {
    cwd: dir,
    env,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const ended = new Promise((resolve) => daemon.on("exit", resolve));
  return {
    daemon,
    async stop() {
      daemon.kill("SIGTERM");
      await ended;
    },
  };
}

/** Runs a program of this Node to its end; throws where it fails. */
export function node(args, env = { PATH: process.env.PATH }) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { env, stdio: ["ignore", "ignore", "inherit"] });
    child.on("error", reject);
    child.on("close", (code) => (code === 0 ? resolve() : reject(new Error(`node ${args.join(" ")}: exit ${code}`))));
  });
}
