/** Where this package lies: its data/ is found from the sources and from dist/ alike. */
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

let found: string | undefined;

/** The folder of the package `ollie` that this code belongs to. Throws where there is none. */
export function packageRoot(): string {
  found ??= findRoot(dirname(fileURLToPath(import.meta.url)));
  return found;
}

function findRoot(start: string): string {
  for (let dir = start; ; dir = dirname(dir)) {
    const file = join(dir, "package.json");
    if (existsSync(file) && JSON.parse(readFileSync(file, "utf8")).name === "ollie") return dir;
    if (dir === dirname(dir)) throw new Error(`no package "ollie" above ${start}`);
  }
}

/** `~` and `~/…` only, never `~user`. */
export const expandHome = (path: string, env: NodeJS.ProcessEnv): string =>
  path === "~" || path.startsWith("~/") ? join(env.HOME || homedir(), path.slice(1)) : path;

/** The user's config folder: OLLIE_CFG_PATH, else ~/.config/ollie. */
export const configDir = (env: NodeJS.ProcessEnv): string => expandHome(env.OLLIE_CFG_PATH || "~/.config/ollie", env);

/** Where tools are looked for, first wins: OLLIE_TOOLS_PATH (a colon list) or {cfg}/tools, then the package's own. */
export function toolDirs(env: NodeJS.ProcessEnv): string[] {
  const listed = (env.OLLIE_TOOLS_PATH ?? "").split(":").filter((dir) => dir !== "");
  const user = listed.length > 0 ? listed.map((dir) => expandHome(dir, env)) : [join(configDir(env), "tools")];
  return [...new Set([...user, join(packageRoot(), "data", "tools")])];
}
