// file_glob: files by their names, newest first.
import { statSync } from "node:fs";
import { isAbsolute, join, relative } from "node:path";
import { fail, needString, optionalCount, readArgs, say } from "./args.mjs";
import { expandBraces, globTest, hasWildcard, literalStart } from "./glob.mjs";
import { allowedPath, explain } from "./paths.mjs";
import { walk } from "./walk.mjs";

const maxOutput = 62 << 10;

const args = readArgs();
const given = needString(args, "pattern");
const limit = optionalCount(args, "limit", 1, 500);
if (given === "") fail("pattern is empty");

let base = allowedPath(args.path ?? ".");
let pattern = given.replace(/^(?:\.\/+)+/, "").replace(/\/+$/, "");
if (isAbsolute(pattern)) {
  base = allowedPath(literalStart(pattern) || "/");
  pattern = hasWildcard(given)
    ? given.slice(literalStart(given).length + 1)
    : pattern.slice(pattern.lastIndexOf("/") + 1);
}
if (!directory(base)) fail(`${args.path ?? given} is not a folder`);

const found = new Map();
try {
  for (const each of expandBraces(pattern)) for (const file of matches(base, each)) found.set(file, mtime(file));
} catch (error) {
  fail(`pattern ${given}: ${error.message}`);
}
const files = [...found].sort(([a, at], [b, bt]) => bt - at || (a < b ? -1 : 1)).map(([file]) => file);
say(files.length === 0 ? `no files match ${given}\n` : listing(files));

/** A path without wildcards is looked up as it is; else the walk starts behind the folders that the pattern spells out. */
function* matches(root, each) {
  if (!hasWildcard(each)) {
    const file = allowedPath(join(root, each));
    if (exists(file)) yield file;
    return;
  }
  const start = literalStart(each);
  const dir = allowedPath(join(root, start));
  const rest = each.slice(start === "" ? 0 : start.length + 1);
  const test = globTest(rest);
  const hidden = /(?:^|\/)\./.test(rest);
  for (const file of walk(dir, { hidden })) if (test(relative(dir, file))) yield file;
}

function listing(all) {
  const shown = [];
  let size = 0;
  for (const file of all.slice(0, limit)) {
    size += Buffer.byteLength(file) + 1;
    if (size > maxOutput) break;
    shown.push(file);
  }
  const cut =
    shown.length < all.length
      ? `[${shown.length} of ${all.length} files, newest first; narrow the pattern or raise limit]\n`
      : "";
  return `${shown.join("\n")}\n${cut}`;
}

function mtime(file) {
  try {
    return statSync(file).mtimeMs;
  } catch {
    return 0;
  }
}

function exists(file) {
  try {
    return statSync(file) !== undefined;
  } catch {
    return false;
  }
}

function directory(path) {
  try {
    return statSync(path).isDirectory();
  } catch (error) {
    fail(`${args.path ?? path}: ${error.code === "ENOENT" ? "there is no such folder" : explain(error)}`);
  }
}
