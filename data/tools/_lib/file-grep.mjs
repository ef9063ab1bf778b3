// file_grep: searches files with one dialect, whatever programs this host has.
import { readFileSync, statSync } from "node:fs";
import { basename, extname, relative } from "node:path";
import { fail, needString, optionalCount, readArgs, say } from "./args.mjs";
import { expandBraces, globTest } from "./glob.mjs";
import { allowedPath, regularFile } from "./paths.mjs";
import { compile } from "./regex.mjs";
import { search } from "./search.mjs";
import { types } from "./types.mjs";
import { walk } from "./walk.mjs";

const maxOutput = 62 << 10;
const maxFile = 64 << 20;
const modes = ["files_with_matches", "content", "count"];

const args = readArgs();
const given = needString(args, "pattern");
const mode = args.output_mode ?? modes[0];
if (given === "") fail("pattern is empty");
if (!modes.includes(mode)) fail(`output_mode must be one of ${modes.join(" ")}`);
const around = optionalCount(args, "context", 0, optionalCount(args, "-C", 0, 0));
const view = {
  before: optionalCount(args, "-B", 0, around),
  after: optionalCount(args, "-A", 0, around),
  numbers: args["-n"] !== false,
};
const limit = optionalCount(args, "head_limit", 0, 0) || Number.POSITIVE_INFINITY;
const offset = optionalCount(args, "offset", 0, 0);

let regex;
let wanted;
try {
  regex = compile(given, {
    literal: args.literal === true,
    ignoreCase: args["-i"] === true,
    multiline: args.multiline === true,
  });
  wanted = filter();
} catch (error) {
  fail(error.message);
}

const skipped = [];
const entries = [];
for (const { path, name } of files()) {
  const text = load(path, name);
  if (text === undefined) continue;
  const result = search(text, regex, { multiline: args.multiline === true, ...view, name });
  if (result.count === 0) continue;
  if (mode === "content") {
    if (entries.length > 0 && view.before + view.after > 0) entries.push("--");
    for (const line of result.lines()) entries.push(line);
  } else entries.push(mode === "count" ? `${name}:${result.count}` : name);
}
report();

/** The file that `path` names, or those below the folder that it names; names as they are seen from the working directory. */
function* files() {
  const root = allowedPath(args.path ?? ".");
  const name = (path) => relative(process.cwd(), path) || basename(path);
  if (isFolder(root)) {
    for (const path of walk(root, { hidden: args.hidden === true }))
      if (wanted(relative(root, path))) yield { path, name: name(path) };
  } else yield { path: root, name: args.path };
}

function isFolder(path) {
  try {
    if (statSync(path).isDirectory()) return true;
  } catch {
    fail(`${args.path} does not exist`);
  }
  regularFile(path, args.path);
  return false;
}

/** A pattern without a slash is for names, one with a slash for paths below `path`. */
function filter() {
  const tests = [];
  if (args.glob) {
    const patterns = expandBraces(args.glob);
    tests.push((path) =>
      patterns.some((each) =>
        globTest(each.replace(/^\//, ""), { dots: true })(each.includes("/") ? path : basename(path)),
      ),
    );
  }
  if (args.type) {
    if (!Object.hasOwn(types, args.type)) throw new Error(`type must be one of ${Object.keys(types).join(" ")}`);
    const ends = types[args.type].split(" ");
    tests.push((path) => ends.includes(extname(path).slice(1).toLowerCase()));
  }
  return (path) => tests.every((test) => test(path));
}

function load(path, name) {
  try {
    const { size } = statSync(path);
    if (size > maxFile) {
      skipped.push(`${name} (${size} bytes)`);
      return undefined;
    }
    const bytes = readFileSync(path);
    return bytes.subarray(0, 8192).includes(0) ? undefined : bytes.toString("utf8");
  } catch (error) {
    skipped.push(`${name} (${error.code})`);
    return undefined;
  }
}

function report() {
  const shown = [];
  let size = 0;
  for (const entry of entries.slice(offset, offset + limit)) {
    size += Buffer.byteLength(entry) + 1;
    if (size > maxOutput) break;
    shown.push(entry);
  }
  const what = mode === "content" ? "lines" : "files";
  const end = offset + shown.length;
  const notes = [];
  if (entries.length === 0) notes.push("no matches");
  else if (shown.length === 0) notes.push(`[offset ${offset} is past the end, there are ${entries.length} ${what}]`);
  else if (shown.length < entries.length)
    notes.push(
      `[${what} ${offset + 1} to ${end} of ${entries.length}${end < entries.length ? `; go on with offset=${end}` : ""}]`,
    );
  if (skipped.length > 0)
    notes.push(`[not searched: ${skipped.slice(0, 5).join(", ")}${skipped.length > 5 ? ", ..." : ""}]`);
  say(`${[...shown, ...notes].join("\n")}\n`);
}
