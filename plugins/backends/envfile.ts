/** `{cfg}/env`: KEY=VALUE lines that fill the environment where it is silent. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { configDir, messageOf } from "#core";

export interface EnvText {
  values: Map<string, string>;
  /** Numbers of the lines that are skipped because they are no KEY=VALUE. */
  bad: number[];
}

/**
 * The variables of an env file, in order. Blank lines and `#` lines are skipped; key and value are trimmed; a comment
 * starts at white space and `#`. One pair of quotes around a value is taken off, and a `#` inside of them is kept. A
 * leading `export` is allowed.
 */
export function parseEnv(text: string): EnvText {
  const values = new Map<string, string>();
  const bad: number[] = [];
  for (const [i, raw] of text
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/)
    .entries()) {
    const line = raw.trim();
    if (line === "" || line.startsWith("#")) continue;
    const at = line.indexOf("=");
    const key = line
      .slice(0, Math.max(at, 0))
      .trim()
      .replace(/^export\s+/, "");
    if (!/^\S+$/.test(key)) {
      bad.push(i + 1);
      continue;
    }
    const value = line.slice(at + 1);
    const quoted = /^\s*(["'])(.*?)\1(\s+#.*)?$/.exec(value);
    values.set(key, quoted ? (quoted[2] ?? "") : value.replace(/\s#.*$/, "").trim());
  }
  return { values, bad };
}

/**
 * Loads `{cfg}/env` into `env`. A variable that somebody else has set is never overridden, while one that came from
 * this file follows it when it is loaded again. A missing file is fine.
 * Gives a sentence when the file is there and can not be read, or has lines that can not: their numbers only, because
 * what stands in them may be a key.
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
    const { values, bad } = parseEnv(text);
    for (const [key, value] of values) {
      const now = env[key];
      if (now !== undefined && now !== "" && now !== ours.get(key)) continue;
      env[key] = value;
      ours.set(key, value);
    }
    if (bad.length === 0) return undefined;
    const one = bad.length === 1;
    return `${path}: line${one ? "" : "s"} ${bad.join(", ")} ${one ? "is" : "are"} no NAME=VALUE and ${one ? "has" : "have"} no effect`;
  };
}
