import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import type { Rules } from "#plugins/sandbox";
import { type Confined, confinedSpawner } from "#plugins/sandbox-landlock";
import { loadLibc } from "#plugins/toolsrv";
import { counted } from "../../../plugins/sandbox-landlock/thread.ts";
import { here } from "../sandbox/gate.ts";
import { grant } from "../sandbox/grants.ts";
import { bundle } from "../toolsrv/bundle.ts";

let program: string;
let base: string;
let spawner: Confined | undefined;

beforeAll(async () => {
  program = await bundle("test/plugins/sandbox-landlock/entry.ts");
  base = realpathSync(mkdtempSync(join(tmpdir(), "ollie-thread-")));
  mkdirSync(join(base, "work"));
  writeFileSync(join(base, "secret"), "s3cret");
});
afterEach(async () => {
  await spawner?.close();
  spawner = undefined;
});
afterAll(() => {
  rmSync(base, { recursive: true, force: true });
  rmSync(program, { force: true });
});

const rules = (more: Partial<Rules> = {}): Rules => ({
  profile: "test",
  unconfined: false,
  bestEffort: false,
  grants: [
    ...["/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache"].flatMap((path) => grant(path, "rox")),
    ...grant("/proc", "ro"),
    ...grant("/dev/null", "rw"),
    ...grant(join(base, "work"), "rwx"),
  ],
  network: "unrestricted",
  unix: [],
  links: [],
  landrun: { ldd: false, addExec: false },
  notes: [],
  warnings: [],
  ...more,
});

async function run(command: string, given = rules()): Promise<{ code: number | null; out: string }> {
  spawner ??= await confinedSpawner(pathToFileURL(program), given);
  const { libc } = await loadLibc();
  if (!libc) throw new Error("koffi is needed");
  const [read, write] = libc.pipe();
  const [input, inputEnd] = libc.pipe();
  const where = { cwd: join(base, "work"), env: { PATH: "/usr/bin:/bin" }, stdio: [input, write, write] };
  const pid = spawner.start("/bin/sh", ["-c", command], where);
  for (const fd of [input, inputEnd, write]) closeSync(fd);
  const code = await vi.waitUntil(() => libc.wait(pid)).then((end) => end.code);
  const out = readFileSync(read, "utf8");
  closeSync(read);
  return { code, out };
}

describe.skipIf(!here.landlock)("what a spawner thread starts", () => {
  test("works where it may, and only there", async () => {
    expect(await run("echo hi > file && cat file && mkdir d && mv file d/ && rm -r d && echo x > /dev/null")).toEqual({
      code: 0,
      out: "hi\n",
    });
    expect((await run("cat ../secret; echo x > ../new; ls ..")).out.match(/denied/g)?.length).toBe(3);
    expect(readFileSync(join(base, "secret"), "utf8")).toBe("s3cret");
  });

  test("has no capabilities, cannot get any, and has a filter", async () => {
    const { out } = await run("grep -E '^(CapEff|CapPrm|NoNewPrivs|Seccomp):' /proc/self/status");
    expect(out).toMatch(/CapPrm:\t0+\nCapEff:\t0+\nNoNewPrivs:\t1\nSeccomp:\t2\n/);
  });

  test("failures to start are worded as those of a plain spawn", async () => {
    spawner = await confinedSpawner(pathToFileURL(program), rules());
    const { start } = spawner;
    const where = { cwd: "/", env: {}, stdio: [0, 1, 2] };
    const refusal = (file: string, code: string) =>
      expect(() => start(file, [], where)).toThrow(expect.objectContaining({ code, message: `spawn ${file} ${code}` }));
    refusal("/usr/bin/none-such", "ENOENT");
    refusal(join(base, "secret"), "EACCES");
  });

  test("the main thread of the process stays free", async () => {
    await run("true");
    expect(readFileSync(join(base, "secret"), "utf8")).toBe("s3cret");
    expect(readFileSync("/proc/self/status", "utf8")).toMatch(/^NoNewPrivs:\t0$/m);
  });
});

test.skipIf(!here.landlock)("a thread that was ended starts nothing more, and nobody waits for it", async () => {
  const own = await confinedSpawner(pathToFileURL(program), rules());
  await own.close();
  expect(() => own.start("/bin/true", [], { cwd: "/", env: {}, stdio: [] })).toThrow("thread has ended");
});

test.skipIf(!here.landlock)("a folder that was replaced since the rules were made is refused", async () => {
  const changed = rules();
  const own = changed.grants.at(-1);
  if (own) own.id = "1:1";
  await expect(confinedSpawner(pathToFileURL(program), changed)).rejects.toThrow("was replaced while");
});

test.skipIf(!here.landlock)(
  "a folder that is reached through a link by now is refused, whatever lies there",
  async () => {
    mkdirSync(join(base, "outside", "in"), { recursive: true });
    symlinkSync(join(base, "outside"), join(base, "swapped"));
    const led = grant(join(base, "outside", "in"), "rwx").map((one) => ({ ...one, path: join(base, "swapped", "in") }));
    await expect(confinedSpawner(pathToFileURL(program), rules({ grants: led }))).rejects.toThrow("was replaced while");
  },
);

test("a start that was given up is ended when it comes to be, and is taken for no other", async () => {
  // Answers the first request when it is told to, as a thread does whose program lies on a stuck file system.
  const slow = join(base, "slow.mjs");
  writeFileSync(
    slow,
    `import { spawn } from "node:child_process";
    import { existsSync, writeFileSync } from "node:fs";
    import { parentPort, workerData } from "node:worker_threads";
    const counts = new Int32Array(workerData.counts);
    workerData.port.on("message", ({ file, args }) => {
      while (args[1] === "1" && !existsSync(${JSON.stringify(join(base, "go"))}));
      const { pid } = spawn(file, args, { detached: true, stdio: "ignore" });
      writeFileSync(${JSON.stringify(join(base, "pid"))} + args[1], String(pid));
      workerData.port.postMessage({ pid });
      Atomics.add(counts, ${counted.answered}, 1);
      Atomics.notify(counts, ${counted.answered});
    });
    parentPort.postMessage({ ready: true });`,
  );
  spawner = await confinedSpawner(pathToFileURL(slow), rules(), 200);
  const { start } = spawner;
  const sleep = (argument: string) => start("/bin/sleep", ["600", argument], { cwd: "/", env: {}, stdio: [] });
  const pidOf = (argument: string) => Number(readFileSync(join(base, `pid${argument}`), "utf8"));
  expect(() => sleep("1")).toThrow("did not start within 0.2 s");
  expect(() => sleep("2")).toThrow("still waits for the start of another");
  writeFileSync(join(base, "go"), "");
  const pid = await vi.waitFor(() => sleep("3"), { timeout: 10_000 });
  expect(pid).toBe(pidOf("3"));
  process.kill(pid, "SIGKILL");
  await vi.waitFor(() => expect(() => process.kill(pidOf("1"), 0)).toThrow("ESRCH"));
});
