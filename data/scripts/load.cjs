// dist/load.cjs: runs a bundle of dist/, with the code that V8 made of it when it was built. To parse and compile half a
// megabyte would be a third of the daemon's start.
"use strict";
const { readFileSync } = require("node:fs");
const { dirname, join } = require("node:path");
const { Script } = require("node:vm");

const bundles = new Map();

/** What the bundle `name`.cjs beside this file exports. */
function load(name) {
  const { module } = bundles.get(name) ?? run(name);
  return module.exports;
}

function run(name) {
  const filename = join(__dirname, `${name}.cjs`);
  const source = readFileSync(filename, "utf8");
  const script = new Script(source, { filename, cachedData: codeOf(filename, source) });
  const module = { exports: {} };
  const bundle = { module, script, filename, mark: markOf(source) };
  bundles.set(name, bundle);
  script.runInThisContext()(module.exports, require, module, load, dirname(filename));
  return bundle;
}

/**
 * What kept code has to begin with: the first line of the bundle, which is a digest of the rest, and for what Node it is.
 * V8 itself looks at the length of the source, its own version and its options.
 */
function markOf(source) {
  return `${source.slice(0, source.indexOf("\n"))} ${process.version} ${process.arch}\n`;
}

/** The bundle's code; undefined where there is none, or one of another build. */
function codeOf(filename, source) {
  let bytes;
  try {
    bytes = readFileSync(`${filename}.code`);
  } catch {
    return undefined;
  }
  const mark = markOf(source);
  return bytes.toString("utf8", 0, mark.length) === mark ? bytes.subarray(mark.length) : undefined;
}

module.exports = load;
module.exports.bundles = bundles;
