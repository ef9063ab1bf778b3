/** A kernel on a Unix socket for programs that are not ours: plan9port's, Linux's. They run as processes; nothing is mocked. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { accessSync, constants, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import control from "ollie/plugins/control";
import { onTestFinished } from "vitest";
import { type TestKernel, testKernel } from "../kit/index.ts";

/** Where PATH finds a program. */
export function found(program: string): string | undefined {
  for (const folder of (process.env.PATH ?? "").split(delimiter))
    try {
      accessSync(join(folder, program), constants.X_OK);
      return join(folder, program);
    } catch {}
  return undefined;
}

/** True where nothing is missing; says what is, so that nobody takes a skipped test for one that passed. */
export function present(client: string, missing: string | undefined): boolean {
  if (missing) process.stderr.write(`interop: ${client} is NOT tested here: ${missing}\n`);
  return !missing;
}

export interface Rig {
  kernel: TestKernel;
  folder: string;
  socket: string;
}

/** Session `s1` with agent `a1`, whose model answers "ok"; ends with the test. */
export async function rig(): Promise<Rig> {
  const folder = mkdtempSync(join(tmpdir(), "ollie-i-"));
  const socket = join(folder, "s");
  const kernel = await testKernel({ plugins: [control()] });
  onTestFinished(async () => {
    await kernel.close();
    rmSync(folder, { recursive: true, force: true });
  });
  await kernel.listen({ unix: socket });
  await kernel.agent();
  return { kernel, folder, socket };
}

export interface Ran {
  code: number | null;
  out: string;
  err: string;
}

/** A process that is killed when the test ends, if it is not over by then. */
export function start(argv: readonly string[]): ChildProcessWithoutNullStreams {
  const [program = "", ...args] = argv;
  const child = spawn(program, args, { env: { ...process.env, LC_ALL: "C" } });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

export function run(argv: readonly string[], input = ""): Promise<Ran> {
  const child = start(argv);
  let out = "";
  let err = "";
  child.stdout.on("data", (bytes) => (out += bytes));
  child.stderr.on("data", (bytes) => (err += bytes));
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, out, err }));
  });
}

/** What a process has written when `done` is content with it. */
export function reads(child: ChildProcessWithoutNullStreams, done: (text: string) => boolean): Promise<string> {
  let text = "";
  return new Promise((resolve, reject) => {
    child.stdout.on("data", (bytes) => {
      text += bytes;
      if (done(text)) resolve(text);
    });
    child.on("error", reject);
    child.on("close", () => reject(new Error(`it ended after ${JSON.stringify(text)}`)));
  });
}

/** Waits until `fn` holds; the test's own limit ends it. */
export async function until(fn: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await fn())) await new Promise((done) => setTimeout(done, 20));
}
