/** Where things lie: this package's files, the user's config and data. Variables win over defaults. */
import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";

type Env = NodeJS.ProcessEnv;

let root: string | undefined;

/** The folder of the package `ollie` that this code belongs to, from the sources and from dist/ alike. Throws where there is none. */
export function packageRoot(): string {
  root ??= findRoot(import.meta.dirname);
  return root;
}

function findRoot(start: string): string {
  for (let dir = start; ; dir = dirname(dir)) {
    const file = join(dir, "package.json");
    if (existsSync(file) && JSON.parse(readFileSync(file, "utf8")).name === "ollie") return dir;
    if (dir === dirname(dir)) throw new Error(`no package "ollie" above ${start}`);
  }
}

const pathVariable = /^(NAMESPACE|TMPDIR|OLLIE_CONFIG|OLLIE_SCRIPT|OLLIE_TMPDIR|OLLIE_\w+_PATH)$/;

/** A copy of `env` in which paths that are relative to `cwd`, also in colon lists, hold in any folder. */
export function absolutePaths(env: Env, cwd: string): Env {
  const absolute = (path: string) => (path === "" || path.startsWith("~") ? path : resolve(cwd, path));
  const entries = Object.entries(env).map(([name, value]) => [
    name,
    value !== undefined && pathVariable.test(name) ? value.split(":").map(absolute).join(":") : value,
  ]);
  return Object.fromEntries(entries);
}

/** `~` and `~/…` only, never `~user`. */
export const expandHome = (path: string, env: Env = process.env): string =>
  path === "~" || path.startsWith("~/") ? join(env.HOME || homedir(), path.slice(1)) : path;

/** The user's config folder: OLLIE_CFG_PATH, else ~/.config/ollie. */
export const configDir = (env: Env = process.env): string => expandHome(env.OLLIE_CFG_PATH || "~/.config/ollie", env);

/** Where ollie keeps what it writes: OLLIE_DATA_PATH, else ~/.local/share/ollie. */
export const dataDir = (env: Env = process.env): string =>
  expandHome(env.OLLIE_DATA_PATH || "~/.local/share/ollie", env);

/** The folders searched for `kind` (agents, prompts, tools), first wins: OLLIE_{KIND}_PATH (a colon list) or {cfg}/{kind}, then the package's own. */
export function searchPath(kind: string, env: Env = process.env): string[] {
  const listed = (env[`OLLIE_${kind.toUpperCase()}_PATH`] ?? "").split(":").filter((dir) => dir !== "");
  const user = listed.length > 0 ? listed.map((dir) => expandHome(dir, env)) : [join(configDir(env), kind)];
  return [...new Set([...user, join(packageRoot(), "data", kind)])];
}

/** A folder and those above it, 0700 where they are new. (Node's own recursive form never ends for a path below /proc.) */
export function makeDir(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST" && statSync(path).isDirectory()) return;
    if (code !== "ENOENT" || existsSync(dirname(path))) throw error;
    makeDir(dirname(path));
    makeDir(path);
  }
}
