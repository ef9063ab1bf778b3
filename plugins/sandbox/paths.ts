/** From what a profile writes to real paths: placeholders, patterns, links. */
import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, realpathSync, type Stats } from "node:fs";
import { homedir, userInfo } from "node:os";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { configDir, dataDir, expandHome, packageRoot, readRegular, realPathOf } from "#core";
import type { Sight } from "./sight.ts";

export interface PlaceholderContext {
  cwd: string;
  tmp: string;
  toolDirs: readonly string[];
  env: NodeJS.ProcessEnv;
  /** Told what is looked at. */
  sight?: Sight | undefined;
}

/** Undefined: nothing is there, or it can not be reached. */
export function realPath(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined;
  }
}

/** What lies at `path`, a link as such. Undefined: nothing is there, or it can not be reached: a folder above may be a file. */
export function lstatOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/**
 * `device:inode` of what lies at a real path; undefined where nothing does, or where a link leads elsewhere by now: whoever
 * may write in a folder above could put one there between two looks.
 */
export function identityOf(path: string): string | undefined {
  let fd: number;
  try {
    fd = openSync(path, O_PATH | constants.O_NOFOLLOW);
  } catch {
    return undefined;
  }
  try {
    const { dev, ino } = fstatSync(fd, { bigint: true });
    return (realPathOf(fd) ?? path) === path ? `${dev}:${ino}` : undefined;
  } finally {
    closeSync(fd);
  }
}

// asm-generic/fcntl.h
const O_PATH = 0o10000000;

/** What `{NAME}` stands for: none, one or more paths. */
function valuesOf(name: string, { cwd, tmp, toolDirs, env, sight }: PlaceholderContext): readonly string[] {
  const home = env.HOME || homedir();
  const several: Record<string, () => readonly string[]> = {
    CWD: () => [cwd],
    TMPDIR: () => [tmp],
    GITDIR: () => gitDirs(cwd, sight),
    OLLIE: () => [packageRoot()],
    NODE: () => nodeDirs(),
    OLLIE_TOOLS_PATH: () => toolDirs,
    OLLIE_CFG_PATH: () => [configDir(env)],
    OLLIE_DATA_PATH: () => [dataDir(env)],
    HOME: () => [home],
    XDG_CONFIG_HOME: () => [env.XDG_CONFIG_HOME || join(home, ".config")],
    XDG_DATA_HOME: () => [env.XDG_DATA_HOME || join(home, ".local/share")],
    XDG_CACHE_HOME: () => [env.XDG_CACHE_HOME || join(home, ".cache")],
    XDG_STATE_HOME: () => [env.XDG_STATE_HOME || join(home, ".local/state")],
    XDG_RUNTIME_DIR: () => [env.XDG_RUNTIME_DIR || `/run/user/${userInfo().uid}`],
  };
  const known = Object.hasOwn(several, name) ? several[name] : undefined;
  if (known) return known();
  return env[name] ? [env[name]] : [];
}

/** The folder of node, and that of its libraries where both have a prefix of their own. */
export function nodeDirs(): string[] {
  const bin = dirname(process.execPath);
  const prefix = dirname(bin);
  return basename(bin) === "bin" && prefix !== "/" && prefix !== "/usr" ? [prefix] : [bin];
}

/**
 * The paths that `written` stands for, not resolved. None: a placeholder without a value. Throws Error with a sentence where
 * it is no absolute path, or a pattern that nothing matches.
 */
export function expandPath(written: string, context: PlaceholderContext): string[] {
  let paths = [expandHome(written, context.env)];
  for (const [whole, name = ""] of written.matchAll(/\{([A-Z_][A-Z0-9_]*)\}/g))
    paths = paths.flatMap((path) => valuesOf(name, context).map((value) => path.replace(whole, () => value)));
  return paths.flatMap((path) => {
    if (!isAbsolute(path)) throw new Error(`"${written}" is not an absolute path`);
    if (path.includes("\0")) throw new Error(`"${written}" holds a NUL`);
    return /[*?[]/.test(path) && /[*?[]/.test(written) ? matches(written, path, context.sight) : [resolve(path)];
  });
}

function matches(written: string, pattern: string, sight: Sight | undefined): string[] {
  if (pattern.includes("**") || pattern.includes("["))
    throw new Error(`"${written}": only * and ? inside of one name are understood`);
  let found = ["/"];
  for (const part of pattern.split("/").filter((name) => name !== "")) {
    if (!/[*?]/.test(part)) found = found.map((dir) => join(dir, part));
    else {
      const source = part
        .replace(/[.+^${}()|\\]/g, "\\$&")
        .replaceAll("*", ".*")
        .replaceAll("?", ".");
      const expression = new RegExp(`^${source}$`);
      const visible = (name: string) => part.startsWith(".") || !name.startsWith(".");
      found = found.flatMap((dir) =>
        namesIn(dir, sight)
          .filter((name) => visible(name) && expression.test(name))
          .map((name) => join(dir, name)),
      );
    }
  }
  const there = found.filter((path) => realPath(path) !== undefined);
  if (there.length === 0) throw new Error(`"${written}" matches nothing`);
  return there;
}

function namesIn(dir: string, sight: Sight | undefined): string[] {
  sight?.saw(dir, true);
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
}

/**
 * Where git keeps the state of a worktree (its own folder and the one that all worktrees share) or of a submodule. Only where
 * that names this place in turn: the file `.git` is a tool's to write, and could name any folder, or be a link to another's.
 */
function gitDirs(cwd: string, sight: Sight | undefined): string[] {
  for (let dir = cwd; ; dir = dirname(dir)) {
    const file = join(dir, ".git");
    const link = firstLine(textOf(file, sight), "gitdir: ");
    if (link !== undefined) {
      const own = realPath(resolve(dir, link));
      return own === undefined || realPath(file) !== file
        ? []
        : (worktreeDirs(own, file, sight) ?? submoduleDirs(own, dir, sight));
    }
    if (dir === dirname(dir) || realPath(file) !== undefined) return [];
  }
}

/** Undefined: `own` is no worktree's, or that of another than `file` belongs to. */
function worktreeDirs(own: string, file: string, sight: Sight | undefined): string[] | undefined {
  const common = firstLine(textOf(join(own, "commondir"), sight));
  const back = firstLine(textOf(join(own, "gitdir"), sight));
  if (common === undefined || back === undefined || realPath(resolve(own, back)) !== file) return undefined;
  const shared = realPath(resolve(own, common));
  return shared !== undefined && dirname(own) === join(shared, "worktrees") && isGitDir(shared, sight)
    ? [own, shared]
    : undefined;
}

/** None: `own` is no submodule's, or that of another than `dir`. */
function submoduleDirs(own: string, dir: string, sight: Sight | undefined): string[] {
  const named = /^\s*worktree\s*=\s*(.*?)\s*$/m.exec(textOf(join(own, "config"), sight) ?? "")?.[1];
  return named !== undefined && realPath(resolve(own, named)) === dir && isGitDir(own, sight) ? [own] : [];
}

/**
 * As git tells it. A tool that works in `P/worktrees/NAME` can write there all that names a worktree and leads to P; what a
 * repository has it can not put into P.
 */
const isGitDir = (dir: string, sight: Sight | undefined): boolean =>
  ["HEAD", "objects", "refs"].every((name) => {
    sight?.saw(join(dir, name));
    return realPath(join(dir, name)) !== undefined;
  });

function firstLine(text: string | undefined, start = ""): string | undefined {
  const line = text?.split("\n", 1)[0];
  return line?.startsWith(start) ? line.slice(start.length).trim() : undefined;
}

function textOf(file: string, sight: Sight | undefined): string | undefined {
  sight?.saw(file, true);
  try {
    return readRegular(file, 65_536)?.bytes.toString("utf8");
  } catch {
    return undefined;
  }
}
