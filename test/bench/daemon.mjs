// A daemon of its own for a row: a fresh home, a fresh name space, the scripted backend.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { root } from "../../data/scripts/setup.mjs";
import { atEnd } from "./cleanup.mjs";

export function place() {
  const all = mkdtempSync(join(tmpdir(), "ollie-b-"));
  // Agents work in `dir`: no sandbox lets them work in a home.
  const [dir, home, tmp, ns] = ["work", "home", "tmp", "ns"].map((name) => join(all, name));
  for (const folder of [dir, home, tmp, ns]) mkdirSync(folder, { mode: 0o700 });
  const env = { PATH: process.env.PATH, HOME: home, TMPDIR: tmp, NAMESPACE: ns, OLLIE_BACKEND: "script" };
  atEnd(() => rmSync(all, { recursive: true, force: true }));
  return { dir, env, socket: join(ns, "ollie") };
}

/** `serving(pause)` waits until it takes connections, and throws where it ends before. */
export function spawnDaemon({ dir, env, socket }) {
  const daemon = spawn(process.execPath, [join(root, "dist/core/bin/olliesrv.js"), "fgstart"], {
    cwd: dir,
    env,
    stdio: ["ignore", "ignore", "inherit"],
  });
  let over = false;
  const ended = new Promise((resolve) => {
    daemon.on("exit", resolve);
    daemon.on("error", resolve);
  }).then(() => {
    over = true;
  });
  const stop = async () => {
    daemon.kill("SIGTERM");
    await ended;
  };
  atEnd(stop);
  return {
    pid: daemon.pid,
    stop,
    async serving(pause = 5) {
      while (!existsSync(socket)) {
        if (over) throw new Error("the daemon ended before it served");
        await sleep(pause);
      }
    },
  };
}

/** Runs a program of this Node to its end; throws where it fails. */
export async function node(args, env) {
  await ended(spawn(process.execPath, args, { env: env ?? bare, stdio: ["ignore", "ignore", "inherit"] }));
}

/** The same, and what it took: `{ cpu }` in milliseconds, `{ rss }` (the most that it had) in MiB. */
export async function cost(args, env) {
  const stdio = ["ignore", "ignore", "inherit", "pipe"];
  const child = spawn(process.execPath, ["-r", join(import.meta.dirname, "report.cjs"), ...args], {
    env: env ?? bare,
    stdio,
  });
  const chunks = [];
  child.stdio[3].on("data", (chunk) => chunks.push(chunk));
  await ended(child);
  return JSON.parse(Buffer.concat(chunks).toString());
}

/** Milliseconds of CPU that a running process has had. */
export function cpuOf(pid) {
  const times = readdirSync(`/proc/${pid}/task`).map((thread) => {
    return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]);
  });
  return times.reduce((sum, ns) => sum + ns, 0) / 1e6;
}

const bare = { PATH: process.env.PATH };

function ended(child) {
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) =>
      code === 0 ? resolve() : reject(new Error(`${child.spawnargs.join(" ")}: exit ${code}`)),
    );
  });
}
