/** `ollie-9p` as a real process: the source bundled as the build does it, run by node. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";

export interface Result {
  code: number | null;
  /** What it died of, where it did not exit. */
  signal: NodeJS.Signals | null;
  out: Buffer;
  text: string;
  err: string;
}

export interface Cli {
  /** A folder of this test, gone at the end; the name space of `run`. */
  folder: string;
  start(args: string[], env?: Record<string, string>): ChildProcessWithoutNullStreams;
  /** Runs to the end with `input` on standard input. */
  run(args: string[], input?: string | Buffer, env?: Record<string, string>): Promise<Result>;
  remove(): void;
}

export async function bundleCli(): Promise<Cli> {
  const folder = mkdtempSync(join(tmpdir(), "o9p-"));
  const file = join(folder, "ollie-9p.cjs");
  await build({
    entryPoints: [new URL("../../../core/bin/ollie-9p.ts", import.meta.url).pathname],
    outfile: file,
    bundle: true,
    platform: "node",
    format: "cjs",
    target: "node20.19",
    conditions: ["source"],
    logLevel: "error",
  });
  const start: Cli["start"] = (args, env = {}) => {
    const { OLLIE_UNAME: _, ...inherited } = process.env;
    return spawn(process.execPath, [file, ...args], { env: { ...inherited, NAMESPACE: folder, TZ: "UTC", ...env } });
  };
  return {
    folder,
    start,
    run(args, input = "", env) {
      const child = start(args, env);
      child.stdin.on("error", () => {}); // it may end without reading all
      child.stdin.end(input);
      return resultOf(child);
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** What a started process gave, once it has ended. */
export function resultOf(child: ChildProcessWithoutNullStreams): Promise<Result> {
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout.on("data", (bytes: Buffer) => out.push(bytes));
  child.stderr.on("data", (bytes: Buffer) => err.push(bytes));
  return new Promise((done) =>
    child.on("close", (code, signal) => {
      const all = Buffer.concat(out);
      done({ code, signal, out: all, text: all.toString(), err: Buffer.concat(err).toString() });
    }),
  );
}

/** Standard output until it contains `text`. */
export function printed(child: ChildProcessWithoutNullStreams, text: string): Promise<void> {
  let seen = "";
  return new Promise((done, fail) => {
    child.stdout.on("data", (bytes: Buffer) => {
      seen += bytes.toString();
      if (seen.includes(text)) done();
    });
    child.on("close", () => fail(new Error(`it ended after ${JSON.stringify(seen)}`)));
  });
}
