// Puts what a build made into dist/, while a daemon may be starting or running from there.
import { chmodSync, mkdirSync, readdirSync, renameSync, rmdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { root } from "./setup.mjs";

const dist = join(root, "dist");
const hourMs = 3600 * 1000;

const executable = new Set(["core/bin/olliesrv.js", "bin/ollie-9p.cjs", "o.js"]);

/** Each file replaces its elder in one step, in the order given: what others load goes before them. */
export function install(files) {
  for (const file of files) replace(file);
}

/** Takes away all but `paths`, and what another build is making at this moment (`name.PID`). */
export function prune(paths) {
  const kept = new Set([...paths, join(dist, ".stamp")]);
  const visit = (dir) => {
    for (const entry of readdirSync(dir, { withFileTypes: true })) {
      const path = join(dir, entry.name);
      if (entry.isDirectory()) visit(path);
      else if (!kept.has(path) && !(/\.\d+$/.test(path) && young(path))) rmSync(path, { force: true });
    }
    if (readdirSync(dir).length === 0) rmdirSync(dir);
  };
  visit(dist);
}

function replace({ path, contents }) {
  const program = executable.has(relative(dist, path));
  const text = Buffer.from(contents);
  const bang = program && text.subarray(0, 2).toString() !== "#!" ? "#!/usr/bin/env node\n" : "";
  const aside = `${path}.${process.pid}`;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(aside, Buffer.concat([Buffer.from(bang), text]));
  if (program) chmodSync(aside, 0o755);
  renameSync(aside, path);
}

function young(path) {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat !== undefined && Date.now() - stat.mtimeMs < hourMs;
}
