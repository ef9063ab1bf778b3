// Where file tools may work: the working directory and the folders for temporary files, nothing beside them.
import { lstatSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join, resolve, sep } from "node:path";
import { fail } from "./args.mjs";

/** Folders that may be read and changed, as real paths: cwd, OLLIE_TMPDIR, and those of OLLIE_ROOTS (a colon list). */
function roots() {
  const more = [process.env.OLLIE_TMPDIR, ...(process.env.OLLIE_ROOTS ?? "").split(":")];
  return [process.cwd(), ...more].flatMap((dir) => {
    try {
      return dir && isAbsolute(dir) ? [realpathSync(dir)] : [];
    } catch {
      return [];
    }
  });
}

/**
 * The real path of what `given` names, which need not exist. Fails where that lies outside: whole components count, so
 * /tmp/p-other is not inside of /tmp/p, and a symbolic link counts by where it leads.
 */
export function allowedPath(given) {
  if (given === "") fail("the path is empty");
  if (given.includes("\0")) fail("the path holds a NUL character");
  const path = resolve(/^~(?:\/|$)/.test(given) ? homedir() + given.slice(1) : given);
  const real = realOf(path, given);
  const allowed = roots();
  if (allowed.some((root) => isInside(real, root))) return real;
  fail(`${given} is outside of the working directory ${process.cwd()}`);
}

const isInside = (path, root) => path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);

/** Of a path that does not exist yet: the real path of the part that does, with the rest behind it. */
function realOf(path, given) {
  try {
    return realpathSync(path);
  } catch (error) {
    if (error.code === "ENOTDIR") fail(`${given} has a file in the place of a folder`);
    if (error.code !== "ENOENT") fail(`${given}: ${explain(error)}`);
  }
  if (isLink(path)) fail(`${given} is a symbolic link to something that does not exist`);
  return join(realOf(dirname(path), given), basename(path));
}

function isLink(path) {
  try {
    return lstatSync(path).isSymbolicLink();
  } catch {
    return false;
  }
}

/** The stat of a regular file; fails for everything else. Undefined: it does not exist. */
export function regularFile(path, given) {
  let stat;
  try {
    stat = statSync(path);
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    fail(`${given}: ${explain(error)}`);
  }
  if (!stat.isFile()) fail(`${given} is ${kind(stat)}, not a regular file`);
  return stat;
}

function kind(stat) {
  if (stat.isDirectory()) return "a directory";
  if (stat.isFIFO()) return "a FIFO";
  if (stat.isSocket()) return "a socket";
  return "a device";
}

/** A system error in words. */
export function explain(error) {
  const words = {
    EACCES: "permission denied",
    EPERM: "permission denied",
    ENOSPC: "no space left on the disk",
    EROFS: "the file system is read-only",
  };
  return words[error.code] ?? error.message;
}
