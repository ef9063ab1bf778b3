// Puts what a build made into dist/, while a daemon may be starting or running from there.
import { chmodSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { root } from "./setup.mjs";

const dist = join(root, "dist");
const chunks = join(dist, "chunks/");
const weekMs = 7 * 24 * 3600 * 1000;

const executable = new Set(["core/bin/olliesrv.js", "bin/ollie-9p.cjs", "o.js"]);

/** Each file replaces its elder in one step, and chunks go first: whoever loads an entry finds what it imports. */
export function install(files) {
  for (const file of files.filter((f) => isChunk(f.path))) replace(file);
  for (const file of files.filter((f) => !isChunk(f.path))) replace(file);
}

/** Takes away what this build did not make. */
export function prune(files) {
  const kept = new Set([...files.map((file) => file.path), join(dist, ".stamp")]);
  const young = (path) => Date.now() - statSync(path).mtimeMs < weekMs;
  const visit = (dir) => {
    for (const entry of readdirSync(dir, { withFileTypes: true })) {
      const path = join(dir, entry.name);
      if (entry.isDirectory()) visit(path);
      else if (!kept.has(path) && !(isInUse(path) && young(path))) rmSync(path, { force: true });
    }
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

function isChunk(path) {
  return path.startsWith(chunks);
}

// Old chunks are still loaded lazily by a daemon that runs; `name.PID` belongs to another build at this moment.
function isInUse(path) {
  return isChunk(path) || /\.\d+$/.test(path);
}
