/** A person's folders for tests of the config: an empty home, a working folder, both gone afterwards. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";

const daemon = join(import.meta.dirname, "../../../dist/core/bin/olliesrv.js");

export interface Folders {
  readonly home: string;
  readonly work: string;
  readonly env: Record<string, string>;
  /** Writes a file below the temporary folder; gives its path. */
  put(path: string, text: string): string;
  olliesrv(...args: string[]): { status: number | null; out: string; err: string };
}

export function folders(): Folders {
  const top = realpathSync(mkdtempSync(join(tmpdir(), "o-")));
  onTestFinished(() => rmSync(top, { recursive: true, force: true }));
  const [home, work] = [join(top, "home"), join(top, "work")];
  for (const dir of [home, work]) mkdirSync(dir);
  const env: Record<string, string> = { PATH: process.env.PATH ?? "", HOME: home, NAMESPACE: join(top, "ns") };
  return {
    home,
    work,
    env,
    put(path, text) {
      const file = join(top, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
      return file;
    },
    olliesrv(...args) {
      const { status, stdout, stderr } = spawnSync(process.execPath, [daemon, ...args], {
        cwd: work,
        env,
        encoding: "utf8",
        timeout: 20_000,
      });
      return { status, out: stdout, err: stderr };
    },
  };
}
