/**
 * Which files of projects count that can widen rights: those that the user has looked at, as they were then. The list is
 * kept outside of them, in {cfg}/trusted: a real path and the SHA-256 of what it held, a line each. Tools write in
 * projects, so that a path alone would say nothing.
 */
import { createHash } from "node:crypto";
import { readFileSync, realpathSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { configDir, makeDir } from "./paths.ts";
import type { Regular } from "./regular.ts";

type Env = NodeJS.ProcessEnv;

export interface Trusted {
  file: string;
  sha256: string;
}

const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

/** In the order in which they were trusted. */
export function listTrusted(env: Env): Trusted[] {
  let text: string;
  try {
    text = readFileSync(join(configDir(env), "trusted"), "utf8");
  } catch {
    return [];
  }
  return [...text.matchAll(/^(\/.*) ([0-9a-f]{64})$/gm)].map(([, file = "", sha256 = ""]) => ({ file, sha256 }));
}

/** Whether the user trusted this very text at this place. */
export function isTrusted({ real, bytes }: Regular, env: Env): boolean {
  const known = listTrusted(env).filter(({ file }) => file === real);
  return known.length > 0 && known.some((one) => one.sha256 === sha256(bytes));
}

/** From now on they count as they are, and no longer as they were. */
export function trustFiles(files: readonly Regular[], env: Env): void {
  const names = files.map(({ real }) => real);
  const lined = names.find((name) => /[\r\n]/.test(name));
  if (lined !== undefined)
    throw new Error(`${JSON.stringify(lined)} has a line break in its name: it can not be trusted`);
  const others = listTrusted(env).filter(({ file }) => !names.includes(file));
  write([...others, ...files.map(({ real, bytes }) => ({ file: real, sha256: sha256(bytes) }))], env);
}

/** Takes the trust from those that `gone` says. Gives them. */
export function untrustFiles(gone: (file: string) => boolean, env: Env): string[] {
  const all = listTrusted(env);
  const taken = all.filter(({ file }) => gone(file));
  if (taken.length > 0)
    write(
      all.filter((one) => !taken.includes(one)),
      env,
    );
  return taken.map(({ file }) => file);
}

/** Whole or not at all. */
function write(all: readonly Trusted[], env: Env): void {
  const dir = configDir(env);
  makeDir(dir);
  const draft = join(dir, `.trusted.${process.pid}`);
  writeFileSync(draft, all.map(({ file, sha256 }) => `${file} ${sha256}\n`).join(""), { mode: 0o600 });
  renameSync(draft, linkTarget(join(dir, "trusted")));
}

/** Some keep their configuration elsewhere, and link to it. */
function linkTarget(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}
