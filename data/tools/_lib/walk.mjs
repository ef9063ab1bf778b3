// Walks the files of a folder, as a person sees a project: without what is ignored, without .git.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { isIgnored, rulesAbove, rulesIn } from "./ignore.mjs";

/**
 * Paths of regular files below `dir`, in byte order of their names. Symbolic links are left out, and with them loops.
 * `hidden` takes names with a leading dot in; `all` takes what is ignored in. The folder itself is never ignored: who
 * names it wants it.
 */
export function* walk(dir, { hidden = false, all = false } = {}) {
  yield* below(dir, all ? [] : rulesAbove(dir), { hidden, all });
}

function* below(dir, above, options) {
  let entries;
  try {
    entries = readdirSync(dir, { withFileTypes: true });
  } catch {
    return;
  }
  const own = entries.some(({ name }) => name === ".gitignore" || name === ".ignore");
  const rules = own && !options.all ? [...above, ...rulesIn(dir)] : above;
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    const { name } = entry;
    if (name === ".git" || (name.startsWith(".") && !options.hidden)) continue;
    const isDirectory = entry.isDirectory();
    if (!isDirectory && !entry.isFile()) continue;
    const path = join(dir, name);
    if (isIgnored(rules, path, isDirectory)) continue;
    if (isDirectory) yield* below(path, rules, options);
    else yield path;
  }
}
