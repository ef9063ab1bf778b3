/** `{cfg}/env`: KEY=VALUE lines that fill the environment where it is silent. */
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { messageOf } from "#core";

/**
 * The variables of an env file, in order. Blank lines, `#` lines and lines without `=` are skipped; key and value are
 * trimmed; a comment starts at white space and `#`. One pair of quotes around a value is taken off, and a `#` inside of
 * them is kept. A leading `export` is allowed.
 */
export function parseEnv(text: string): Map<string, string> {
  const values = new Map<string, string>();
  for (const raw of text.replace(/^\uFEFF/, "").split(/\r?\n/)) {
    const line = raw.trim();
    const at = line.indexOf("=");
    if (line.startsWith("#") || at <= 0) continue;
    const key = line
      .slice(0, at)
      .trim()
      .replace(/^export\s+/, "");
    const value = line.slice(at + 1);
    const quoted = /^\s*(["'])(.*?)\1(\s+#.*)?$/.exec(value);
    values.set(key, quoted ? (quoted[2] ?? "") : value.replace(/\s#.*$/, "").trim());
  }
  return values;
}

/** The user's config directory: OLLIE_CFG_PATH, else `~/.config/ollie`. A leading `~/` is the home directory. */
export function configDir(env: NodeJS.ProcessEnv): string {
  const home = env.HOME || homedir();
  const path = env.OLLIE_CFG_PATH || "~/.config/ollie";
  return path === "~" || path.startsWith("~/") ? join(home, path.slice(1)) : path;
}

/**
 * Loads `{cfg}/env` into `env`. A variable that somebody else has set is never overridden, while one that came from
 * this file follows it when it is loaded again. A missing file is fine.
 * Gives a text when the file is there and can not be read.
 */
export function envFile(env: NodeJS.ProcessEnv): () => string | undefined {
  const ours = new Map<string, string>();
  return () => {
    const path = join(configDir(env), "env");
    let text: string;
    try {
      text = readFileSync(path, "utf8");
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === "ENOENT" ? undefined : `${path}: ${messageOf(error)}`;
    }
    for (const [key, value] of parseEnv(text)) {
      const now = env[key];
      if (now !== undefined && now !== "" && now !== ours.get(key)) continue;
      env[key] = value;
      ours.set(key, value);
    }
    return undefined;
  };
}
