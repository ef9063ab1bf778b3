/** Folders for temporary files: whose they are, and how they go. */
import { spawn, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { tmpDirs } from "../../../plugins/toolsrv/tmp.ts";
import { until } from "./processes.ts";

const [session, agent] = [randomUUID(), randomUUID()];
let base: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "ollie-tmp-"));
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

test("only folders of dead daemons are wiped at start", () => {
  const tmp = tmpDirs(base);
  const mine = tmp.of(session, agent).session;
  const dead = join(base, "dead");
  const foreign = join(base, "foreign");
  for (const dir of [dead, foreign]) mkdirSync(dir);
  writeFileSync(join(dead, ".owner"), `${process.pid} 1\n`);
  const piped = join(base, "piped");
  mkdirSync(piped);
  spawnSync("mkfifo", [join(piped, ".owner")]);
  tmp.wipeDead();
  expect([mine, dead, foreign, piped].map((dir) => existsSync(dir))).toEqual([true, false, true, true]);
});

test("they are gone at once: no tool finds one half removed, where it could put a link in place of a folder", async () => {
  const tmp = tmpDirs(base);
  const dir = tmp.of(session, agent).agent;
  for (let i = 0; i < 1500; i++) writeFileSync(join(dir, `f${i}`), "");
  const watching = `
    const fs = require("fs"), seen = new Set();
    process.stdout.write("ready");
    const dir = ${JSON.stringify(dir)};
    // One that was open before it was moved is emptied under the look: that counts for nothing.
    try { for (;;) { const { length } = fs.readdirSync(dir); if (fs.existsSync(dir)) seen.add(length); } } catch {}
    process.stdout.write(JSON.stringify([...seen]));`;
  const watcher = spawn(process.execPath, ["-e", watching], { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  watcher.stdout.on("data", (text) => (said += text));
  await until(() => said.startsWith("ready"));
  tmp.remove(session, agent);
  await once(watcher, "close");
  expect(said).toBe("ready[1500]");
  expect(readdirSync(base)).toHaveLength(1);
  mkdirSync(join(base, ".gone-before"));
  tmp.wipeDead();
  expect(readdirSync(base)).toHaveLength(1);
});
