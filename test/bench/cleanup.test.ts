/** A bench that ends before its time leaves neither processes nor folders. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

/** Starts `node …args` with an empty TMPDIR of its own. */
function start(...args: string[]) {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "o-")));
  const child = spawn(process.execPath, args, {
    env: { ...process.env, TMPDIR: dir },
    stdio: ["ignore", "ignore", "pipe"],
  });
  onTestFinished(() => {
    child.kill("SIGKILL");
    rmSync(dir, { recursive: true, force: true });
  });
  let err = "";
  child.stderr.on("data", (chunk) => {
    err += chunk;
  });
  return { dir, child, ended: once(child, "close"), err: () => err };
}

/** Processes that were started with this TMPDIR or one below it. */
const left = (dir: string): string[] =>
  readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/environ`, "utf8").includes(`TMPDIR=${dir}`);
    } catch {
      return false;
    }
  });

test("a row whose setup fails ends its daemon and removes its folders", async () => {
  const url = (name: string) => JSON.stringify(join(import.meta.dirname, name));
  const { dir, ended, err } = start(
    "--input-type=module",
    "-e",
    `import { place, spawnDaemon } from ${url("daemon.mjs")};
     import { runRow } from ${url("harness.mjs")};
     const setup = async () => {
       await spawnDaemon(place()).serving();
       throw new Error("no luck");
     };
     await runRow({ name: "r", setup }).catch((error) => process.stderr.write(error.message));`,
  );
  expect(await ended).toEqual([0, null]);
  expect(err()).toContain("no luck");
  expect(left(dir)).toEqual([]);
  expect(readdirSync(dir)).toEqual([]);
});

test("SIGINT in the middle of a row does so too", async () => {
  const { dir, child, ended } = start(join(import.meta.dirname, "run.mjs"), "client-read");
  while (!readdirSync(dir, { recursive: true, encoding: "utf8" }).some((path) => path.endsWith("ns/ollie"))) {
    expect(child.exitCode).toBeNull();
    await new Promise((done) => setTimeout(done, 20));
  }
  child.kill("SIGINT");
  expect(await ended).toEqual([1, null]);
  expect(left(dir)).toEqual([]);
  expect(readdirSync(dir)).toEqual([]);
});
