/** olliesrv trust|untrust|trusted: which files of a project may widen rights. */
import { readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { type Regular, readRegular } from "../config/regular.ts";
import { isTrusted, listTrusted, trustFiles, untrustFiles } from "../config/trust.ts";

/** Of a folder those count which ollie may find there by itself. */
const ofProject = (name: string): boolean => name.startsWith(".ollie") || name === "ollie.config.ts";

export async function trust(paths: readonly string[], yes: boolean): Promise<number> {
  const files = (paths.length > 0 ? paths : ["."]).flatMap(filesAt);
  const wanted = files.filter((file) => !isTrusted(file, process.env));
  for (const { real } of files.filter((file) => !wanted.includes(file)))
    console.log(`${named(real)} is trusted already`);
  for (const { real, bytes } of wanted) console.log(`${named(real)}:\n${shown(bytes.toString("utf8"))}`);
  if (
    wanted.length === 0 ||
    !(yes || (await asked("Shall this count as it is now? A change needs this again. [y/N] ")))
  )
    return wanted.length === 0 ? 0 : 1;
  trustFiles(wanted, process.env);
  for (const { real } of wanted) console.log(`${named(real)} is trusted`);
  return 0;
}

/** By path: what it was taken for may be gone. */
export function untrust(paths: readonly string[]): number {
  for (const path of (paths.length > 0 ? paths : ["."]).map((one) => resolve(one))) {
    const taken = untrustFiles((file) => file === path || file.startsWith(`${path}/`), process.env);
    for (const file of taken) console.log(`${named(file)} is not trusted any more`);
    if (taken.length === 0) throw new Error(`nothing at ${path} is trusted (olliesrv trusted lists what is)`);
  }
  return 0;
}

export function trusted(): number {
  for (const { file } of listTrusted(process.env)) console.log(`${named(file)}\t${stateOf(file)}`);
  return 0;
}

function stateOf(file: string): string {
  try {
    const now = readRegular(file);
    return now === undefined ? "gone" : isTrusted(now, process.env) ? "as trusted" : "changed: does not count";
  } catch {
    return "can not be read";
  }
}

function filesAt(path: string): Regular[] {
  const at = resolve(path);
  const isFolder = statSync(at, { throwIfNoEntry: false })?.isDirectory();
  const files = isFolder
    ? readdirSync(at)
        .filter(ofProject)
        .map((name) => join(at, name))
    : [at];
  const found = files.flatMap((file) => readRegular(file) ?? []);
  if (found.length > 0) return found;
  throw new Error(
    isFolder ? `${at} has no file that ollie would read (.ollie*, ollie.config.ts)` : `${at} does not exist`,
  );
}

const escaped = (character: string): string => `\\u{${character.codePointAt(0)?.toString(16)}}`;

/** Nothing in it can hide on a terminal. */
const shown = (text: string): string =>
  text
    .trimEnd()
    .replace(/[^\P{C}\n\t]/gu, escaped)
    .replace(/^/gm, "  | ");

/** Tools name files, too. */
const named = (file: string): string => file.replace(/\p{C}/gu, escaped);

async function asked(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) throw new Error("nobody is here to ask: say --yes");
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    // Ctrl-C and Ctrl-D close it, and then the question is never answered.
    const closed = new Promise<string>((done) => lines.once("close", () => done("")));
    return /^y(es)?$/i.test((await Promise.race([lines.question(question), closed])).trim());
  } finally {
    lines.close();
  }
}
