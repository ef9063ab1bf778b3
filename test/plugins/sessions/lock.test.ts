/** One daemon per folder, across processes and kills. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { expect, onTestFinished, test } from "vitest";
import { lock } from "../../../plugins/sessions/lock.ts";
import { start, tempDir } from "./kit.ts";

/** A process with the line of /proc that lock.ts would write for it, but that is not a daemon. */
async function holder(dir: string, number: number) {
  const child = spawn(process.execPath, [
    "-e",
    "setInterval(() => {}, 1e6); console.log(require('fs').readFileSync('/proc/self/stat', 'utf8'))",
  ]);
  onTestFinished(() => void child.kill("SIGKILL"));
  const [line] = await once(child.stdout, "data");
  const started = String(line)
    .slice(String(line).lastIndexOf(")") + 2)
    .split(" ")[19];
  writeFileSync(join(dir, `lock.${number}`), JSON.stringify({ pid: child.pid, started }));
  return child;
}

test("H-036: a folder in use is refused, naming the process, and nothing in it is touched", async () => {
  const dir = tempDir();
  const first = await start(dir);
  await first.fs.rdwr("/session/new", "name=s");
  const before = readdirSync(dir);
  await expect(start(dir)).rejects.toThrow(new RegExp(`^sessions: ${dir} is in use by process ${process.pid}`));
  expect(readdirSync(dir)).toEqual(before);
  await first.kernel.close();
  expect((await start(dir)).sessions.get("s")).toBeDefined();
});

test("H-036: kill -9 releases the lock", async () => {
  const dir = tempDir();
  const child = await holder(dir, 3);
  expect(() => lock(dir)).toThrow(`in use by process ${child.pid}`);
  child.kill("SIGKILL");
  await once(child, "exit");
  const release = lock(dir);
  expect(readdirSync(dir)).toEqual(["lock.4"]);
  release();
  expect(readdirSync(dir)).toEqual([]);
});

test("a process that has the number of a dead holder does not hold the lock", async () => {
  const dir = tempDir();
  writeFileSync(join(dir, "lock.1"), JSON.stringify({ pid: process.pid, started: "1" }));
  writeFileSync(join(dir, "lock.2"), "torn {");
  lock(dir)();
});

/** `lock` as a program: waits for a line, takes the folder of its argument, says how it went, and holds it until its end. */
async function program(dir: string): Promise<string> {
  const outfile = join(dir, "lock.cjs");
  const contents = `
    import { lock } from "./lock.ts";
    process.stdin.once("data", () => {
      try {
        lock(process.argv[2]);
        console.log("won");
      } catch (error) {
        console.log(error.message);
      }
    });
    console.log("ready");
  `;
  const resolveDir = new URL("../../../plugins/sessions", import.meta.url).pathname;
  await build({
    stdin: { contents, resolveDir },
    outfile,
    bundle: true,
    platform: "node",
    format: "cjs",
    conditions: ["source"],
    logLevel: "error",
  });
  return outfile;
}

test("of many that start at once over a dead holder, one wins", async () => {
  const dir = tempDir();
  const file = await program(tempDir());
  writeFileSync(join(dir, "lock.7"), JSON.stringify({ pid: 1, started: "never" }));
  const children = Array.from({ length: 8 }, () => spawn(process.execPath, [file, dir]));
  onTestFinished(() => {
    for (const child of children) child.kill("SIGKILL");
  });
  await Promise.all(children.map((child) => once(child.stdout, "data")));
  const said = Promise.all(children.map(async (child) => String((await once(child.stdout, "data"))[0]).trim()));
  for (const child of children) child.stdin.write("go\n");
  expect((await said).filter((text) => text === "won")).toHaveLength(1);
  expect(readdirSync(dir)).toEqual(["lock.8"]);
}, 60_000);
