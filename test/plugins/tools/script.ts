/** Runs the stock tools as toolsrv does: JSON on stdin, a session's folder for temporary files. */
import { spawn } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packageRoot } from "#core";

export interface Ran {
  code: number | null;
  out: string;
}

export interface Place {
  /** The working directory, a real path. */
  cwd: string;
  path(name: string): string;
  run(tool: string, args: Record<string, unknown>, env?: Record<string, string>): Promise<Ran>;
  remove(): void;
}

/** A fresh folder to work in, with what belongs to a session beside it. */
export function place(): Place {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "ollie-tool-")));
  const cwd = mkdtempSync(join(base, "p"));
  const session = mkdtempSync(join(base, "tmp"));
  return {
    cwd,
    path: (name) => join(cwd, name),
    run(tool, args, env = {}) {
      const child = spawn(join(packageRoot(), "data/tools", tool), {
        cwd,
        env: { PATH: process.env.PATH, OLLIE_TMPDIR: session, OLLIE_AGENT_ID: "agent-1", ...env },
        stdio: ["pipe", "pipe", "inherit"],
      });
      child.stdin.on("error", () => {});
      child.stdin.end(JSON.stringify(args));
      const chunks: Buffer[] = [];
      child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
      return new Promise((resolve) =>
        child.on("close", (code) => resolve({ code, out: Buffer.concat(chunks).toString("utf8") })),
      );
    },
    remove: () => rmSync(base, { recursive: true, force: true }),
  };
}

/** A second path to the same folder, through a symbolic link beside it. */
export function linkTo(dir: string): string {
  symlinkSync(dir, `${dir}-link`);
  return `${dir}-link`;
}
