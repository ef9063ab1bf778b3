// Whether dist/ was built from the sources as they are: a digest of path, size and time of every source file.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const sources = ["core", "plugins", "test/kit", "data/scripts", "ollie.config.ts", "package.json", "package-lock.json"];

export function stale(root) {
  try {
    return readFileSync(stampFile(root), "utf8") !== digest(root);
  } catch {
    return true;
  }
}

export function writeStamp(root, value) {
  writeFileSync(stampFile(root), value);
}

/** Taken before a build reads the sources, so that an edit during the build leaves it stale. */
export function digest(root) {
  const hash = createHash("sha256");
  for (const path of sources) add(hash, root, path);
  return hash.digest("hex");
}

function add(hash, root, path) {
  const stat = statSync(join(root, path), { throwIfNoEntry: false });
  if (stat === undefined) return;
  if (stat.isDirectory()) {
    for (const name of readdirSync(join(root, path)).sort()) add(hash, root, `${path}/${name}`);
  } else {
    hash.update(`${path} ${stat.size} ${stat.mtimeMs}\n`);
  }
}

function stampFile(root) {
  return join(root, "dist/.stamp");
}
