/** What users install: tests run it wherever the part that is tried is a process of its own. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { packageRoot } from "#core";

let isBuilt = false;

/** Makes dist/ from the sources, unless it is. */
export function build(): void {
  if (isBuilt) return;
  const options = { cwd: packageRoot(), stdio: "inherit" } as const;
  const { status } = spawnSync(process.execPath, ["data/scripts/build.mjs", "--if-stale"], options);
  if (status !== 0) throw new Error("the build failed");
  isBuilt = true;
}

/** A program of dist/, by its path there; `root`: the package, or a copy of it. */
export function built(path: string, root = packageRoot()): string {
  build();
  return join(root, "dist", path);
}
