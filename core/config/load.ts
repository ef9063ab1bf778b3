/**
 * Finds and imports the user's config. The package's own is compiled and imported natively; a user's file goes through
 * jiti, whose aliases lead to this package's copies, so that a folder without node_modules can import `ollie`.
 */
import { chmodSync, existsSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { messageOf, OllieError } from "../errors.ts";
import { logLevels } from "../log.ts";
import { parseAddr } from "../ninep/addr.ts";
import type { Use } from "../plugin.ts";
import type { Config } from "./define.ts";
import { configDir, dataDir, makeDir, packageRoot } from "./paths.ts";
import { readRegular } from "./regular.ts";
import { isTrusted } from "./trust.ts";

export interface Loaded {
  config: Config;
  /** Absolute path. */
  file: string;
  /** Why this one. */
  why: string;
}

type Env = Readonly<Record<string, string | undefined>>;

/** Search order: --config, $OLLIE_CONFIG, ./ollie.config.ts where it is trusted, {cfg}/ollie.config.ts, the package's own. */
export function findConfig(asked: string | undefined, cwd: string, env: Env): { file: string; why: string } {
  const named = asked ?? env.OLLIE_CONFIG;
  if (named) {
    const file = resolve(cwd, named);
    if (!existsSync(file)) throw new OllieError("E_CONFIG", `config ${file} does not exist`);
    return { file, why: asked ? "--config" : "$OLLIE_CONFIG" };
  }
  const here = join(cwd, "ollie.config.ts");
  if (cwd !== packageRoot() && isTrustedFile(here, env)) return { file: here, why: "trusted in this folder" };
  const users = join(configDir(env), "ollie.config.ts");
  if (existsSync(users)) return { file: users, why: "the user's config" };
  return { file: ownConfig(), why: "ollie's own" };
}

function isTrustedFile(path: string, env: Env): boolean {
  try {
    const file = readRegular(path);
    return file !== undefined && isTrusted(file, env);
  } catch {
    return false;
  }
}

function ownConfig(): string {
  const built = join(packageRoot(), "dist", "ollie.config.cjs");
  return existsSync(built) ? built : join(packageRoot(), "ollie.config.ts");
}

/** Throws OllieError E_CONFIG with the file and what is wrong. */
export async function loadConfig(asked: string | undefined, cwd: string, env: Env): Promise<Loaded> {
  const { file, why } = findConfig(asked, cwd, env);
  let module: { default?: unknown };
  try {
    module = file === ownConfig() ? await importOwn(file) : await importUsers(file, env);
  } catch (error) {
    throw new OllieError("E_CONFIG", `${file}: ${importFault(error)}`, { cause: error });
  }
  return { config: checked(module.default, file), file, why };
}

/** In the words of the config: without the list of requiring files, and with `ollie` where the alias put a path. */
const importFault = (error: unknown): string =>
  messageOf(error)
    .replace(/\nRequire stack:.*$/s, "")
    .replaceAll(join(packageRoot(), "dist", "core", "index.js"), "ollie");

function checked(config: unknown, file: string): Config {
  const bad = (what: string) => new OllieError("E_CONFIG", `${file}: ${what}`);
  if (typeof config !== "object" || config === null) throw bad("its default export is no config (use defineConfig)");
  const { plugins } = config as Config;
  if (!Array.isArray(plugins)) throw bad("plugins is not a list");
  const wrong = plugins.findIndex((use) => typeof use !== "object" || use === null || use.kind !== "use");
  if (wrong >= 0) throw bad(`plugins[${wrong}] is not a plugin (call its factory: name())`);
  const keys = ["listen", "log", "plugins"];
  const unknown = Object.keys(config).find((key) => !keys.includes(key));
  if (unknown) throw bad(`unknown key ${JSON.stringify(unknown)} (keys: ${keys.join(" ")})`);
  for (const { def, use } of plugins as Use[]) {
    const slip = Object.keys(use).find((key) => !useKeys.includes(key));
    if (slip)
      throw bad(`${def.name}: unknown key ${JSON.stringify(slip)} in its second argument (keys: ${useKeys.join(" ")})`);
  }
  const { log, listen } = config as Config;
  if (log !== undefined && !logLevels.includes(log))
    throw bad(`log: unknown level ${JSON.stringify(log)} (levels: ${logLevels.join(" ")})`);
  checkListen(listen, bad);
  return config as Config;
}

const useKeys = ["rename", "without", "off"];

/** What the types refuse in an editor: a config need not have been seen by one. */
function checkListen(listen: unknown, bad: (what: string) => Error): void {
  if (listen === undefined || listen === "unix") return;
  if (typeof listen !== "string") {
    if (typeof listen === "object" && listen !== null && ("unix" in listen || "tcp" in listen)) return;
    throw bad('listen is none of "unix", an address, { unix: PATH }, { tcp: { port } }');
  }
  try {
    parseAddr(listen);
  } catch (error) {
    throw bad(`listen: ${messageOf(error)}`);
  }
}

/** Built, it is CommonJS, for which Node need not start its loader of ES modules. */
const importOwn = async (file: string): Promise<{ default?: unknown }> =>
  file.endsWith(".cjs") ? createRequire(file)(file) : import(pathToFileURL(file).href);

async function importUsers(file: string, env: Env): Promise<{ default?: unknown }> {
  const { createJiti } = await import("jiti");
  const jiti = createJiti(pathToFileURL(file).href, {
    alias: hostAliases(),
    moduleCache: false,
    // Not among the caches of the home folder: there are sandbox profiles that let tools write those.
    fsCache: privateFolder(join(dataDir(env), "jiti")),
    interopDefault: false,
  });
  return jiti.import(file);
}

/** Compiled code is kept where nobody else can put any; false where there is no such place. */
function privateFolder(path: string): string | false {
  try {
    makeDir(path);
    chmodSync(path, 0o700);
    return path;
  } catch {
    return false;
  }
}

/** `ollie`, its plugins and the libraries that plugins use, as this process has them. */
function hostAliases(): Record<string, string> {
  const root = packageRoot();
  const dist = join(root, "dist");
  const aliases: Record<string, string> = {
    zod: join(dist, "vendor", "zod.js"),
    tapable: join(dist, "vendor", "tapable.js"),
  };
  const plugins = existsSync(join(dist, "plugins")) ? readdirSync(join(dist, "plugins")) : [];
  for (const name of plugins) {
    const folder = join(dist, "plugins", name);
    if (existsSync(join(folder, "index.js"))) aliases[`ollie/plugins/${name}`] = join(folder, "index.js");
    if (existsSync(join(folder, "types.js"))) aliases[`ollie/${name}`] = join(folder, "types.js");
  }
  aliases["ollie/tree"] = join(dist, "core", "tree", "index.js");
  aliases["ollie/client"] = join(dist, "core", "ninep", "client.js");
  aliases["ollie/testing"] = join(dist, "testing", "index.js");
  aliases.ollie = join(dist, "core", "index.js");
  return aliases;
}
