// What `npm start` and `npm test` share: the installed packages and the build are there and current. Node built-ins only,
// because it runs before anything is installed.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { stale } from "./stamp.mjs";

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** A sentence for the person, shown without a stack trace. */
export class Failure extends Error {}

/** Throws Failure where this Node is older than package.json asks for. */
export function checkNode() {
  const { engines } = readJson(join(root, "package.json"));
  const wanted = engines.node.replace(">=", "");
  const [major, minor] = process.versions.node.split(".").map(Number);
  const [needMajor, needMinor] = wanted.split(".").map(Number);
  if (major < needMajor || (major === needMajor && minor < needMinor)) {
    throw new Failure(`ollie needs Node ${wanted} or newer, this is ${process.versions.node}`);
  }
}

/** Runs `npm ci` unless every package of the lock file is there in its version. Its output goes to stderr. */
export function ensureInstalled() {
  if (installed()) return;
  note("installing packages (once, this takes a minute)");
  const options = ["ci", "--no-audit", "--no-fund", "--loglevel=error", "--include=dev"];
  // Inside of `npm start` the running npm is the one to use; elsewhere the one in PATH.
  const cli = process.env.npm_execpath;
  const [command, args] = cli?.endsWith(".js") ? [process.execPath, [cli, ...options]] : ["npm", options];
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ["ignore", 2, 2] });
  if (error !== undefined) throw new Failure(`npm can not be run (${error.message}): install npm, then try again`);
  if (status !== 0) {
    throw new Failure(
      "installing packages failed, for the reason above: put it right, then run the same command again",
    );
  }
}

/** Builds dist/ unless it was made from the sources as they are now. */
export function ensureBuilt() {
  if (!stale(root)) return;
  note("building");
  const { status } = spawnSync(process.execPath, [join(root, "data/scripts/build.mjs")], {
    cwd: root,
    stdio: ["ignore", 2, 2],
  });
  if (status !== 0) throw new Failure("the build failed, for the reason above");
}

/** Runs `main`; a Failure becomes one line on stderr and exit status 1. */
export async function run(main) {
  try {
    await main();
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    note(error.message);
    process.exitCode = 1;
  }
}

export function note(text) {
  process.stderr.write(`ollie: ${text}\n`);
}

// npm writes node_modules/.package-lock.json last, so an install that was interrupted counts as missing. Times are not
// compared: a checkout changes them. Packages for other platforms are optional and never there.
function installed() {
  try {
    const want = readJson(join(root, "package-lock.json")).packages;
    const have = readJson(join(root, "node_modules/.package-lock.json")).packages;
    return Object.entries(want).every(
      ([path, { version, optional }]) => path === "" || optional || have[path]?.version === version,
    );
  } catch {
    return false;
  }
}

function readJson(file) {
  return JSON.parse(readFileSync(file, "utf8"));
}
