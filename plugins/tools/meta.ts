/** Parses a .meta file into a Tool: one parser for daemon and toolsrv. Every field is described in docs/tools.md. */
import { basename, dirname, isAbsolute, join } from "node:path";
import { argsFault, guessPathArg, isRecord } from "./schema.ts";
import type { ArgsSchema, Tool } from "./types.ts";
import { type Conditions, conditionKeys, holds, isExecutable, onPath } from "./variants.ts";

/** Why a .meta was refused: the message is the reason. */
export class MetaFault extends Error {}

const fail = (reason: string): never => {
  throw new MetaFault(reason);
};

/** The JSON object in a .meta file. Throws MetaFault. */
export function parseMeta(content: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(content.replace(/^\uFEFF/, ""));
  } catch (error) {
    fail(`broken JSON: ${(error as Error).message.replace(/\s+/g, " ")}`);
  }
  return isRecord(value) ? value : fail("a .meta must be a JSON object");
}

/** Whether a tool can be called so. */
export const isName = (text: string): boolean => /^[A-Za-z0-9_-]{1,64}$/.test(text);

/** Makes the tool of `file` (path of its .meta), with the variant that fits this host. Throws MetaFault. */
export function makeTool(file: string, raw: Record<string, unknown>, env: NodeJS.ProcessEnv): Tool {
  const name = basename(file, ".meta");
  if (!isName(name)) fail("the name must be 1 to 64 letters, digits, _ or -");
  if (raw.name !== undefined && raw.name !== name)
    fail(`name is ${JSON.stringify(raw.name)}, but a tool is called like its file`);
  const variant = variants(raw).find(({ conditions }) => holds(conditions, env));
  const meta = { ...raw, ...variant?.overrides };
  const dir = dirname(file);
  const beside = join(dir, localName(meta.exec ?? name));
  const exec = isExecutable(beside) ? beside : undefined;
  const command = meta.command === undefined ? undefined : resolvedCommand(meta.command, env);
  if (exec === undefined && command === undefined)
    fail(noExec(beside, meta.command, raw.variants !== undefined && variant === undefined));
  return { ...fields(name, file, meta), exec, ...(command ? { command } : {}) };
}

/** Undefined: this host does not have the program. */
function resolvedCommand(command: unknown, env: NodeJS.ProcessEnv): Tool["command"] {
  const isWord = (word: unknown) => typeof word === "string" && !word.includes("\0");
  const isWords = Array.isArray(command) && command.every(isWord);
  const [name, ...words] = isWords ? (command as string[]) : [];
  if (!name || (name.includes("/") && !isAbsolute(name)))
    return fail(
      "command must be an array of strings without null characters, the first a program's name or absolute path",
    );
  const program = onPath(name, env);
  return program === undefined ? undefined : [program, ...words];
}

function fields(name: string, file: string, meta: Record<string, unknown>): Omit<Tool, "exec" | "command"> {
  const one = <T>(key: string, test: (value: unknown) => value is T, want: string): T | undefined => {
    const value = meta[key];
    return value === undefined || test(value) ? (value as T | undefined) : fail(`${key} must be ${want}`);
  };
  const string = (key: string) => one(key, (value) => typeof value === "string", "a string");
  const flag = (key: string) => one(key, (value) => typeof value === "boolean", "true or false") ?? false;
  const word = <W extends string>(key: string, words: readonly W[]): W | undefined =>
    one(key, (value): value is W => words.includes(value as W), `one of ${words.join(" ")}`);

  const description = string("description")?.trim();
  if (!description) fail("description is missing");
  const args = (meta.args ?? { type: "object", properties: {} }) as ArgsSchema;
  const fault = argsFault(args);
  if (fault) fail(fault);
  const readOnly = flag("readOnly");
  const pathArg = string("pathArg") ?? guessPathArg(args);
  const prompt = string("prompt");
  const outputFormat = string("outputFormat");
  const aliases = one("aliases", isAliases, "an object of other name to argument name");
  const unknown = Object.values(aliases ?? {}).find((to) => !Object.hasOwn(args.properties ?? {}, to));
  if (unknown !== undefined) fail(`aliases names "${unknown}", which is not in args.properties`);
  const isSeconds = (value: unknown): value is number => typeof value === "number" && value >= 0 && value < 2e6;
  return {
    name,
    description: description as string,
    args,
    scope: word("scope", ["read", "write", "global"]) ?? (readOnly ? "read" : "global"),
    tier: word("tier", ["hot", "warm", "cold"]) ?? "warm",
    readOnly,
    exact: flag("exact"),
    sudo: flag("sudo"),
    timeout: one("timeout", isSeconds, "seconds, 0 for none") ?? 30,
    meta: file,
    ...(prompt === undefined ? {} : { prompt }),
    ...(pathArg === undefined ? {} : { pathArg }),
    ...(outputFormat === undefined ? {} : { outputFormat }),
    ...(aliases === undefined ? {} : { aliases }),
  };
}

const isAliases = (value: unknown): value is Record<string, string> =>
  isRecord(value) && Object.values(value).every((to) => typeof to === "string");

function noExec(exec: string, command: unknown, noVariant: boolean): string {
  if (command !== undefined)
    return `program ${(command as string[])[0]} is not found or not executable, nor is a file ${basename(exec)} beside it`;
  if (noVariant) return `no variant fits this host, and there is no executable ${basename(exec)}`;
  return `${basename(exec)} beside it is missing or not executable (chmod +x)`;
}

function localName(exec: unknown): string {
  if (typeof exec !== "string" || exec === "" || exec.includes("/") || exec === "..")
    return fail("exec must be the name of a file in the same folder");
  return exec;
}

interface Variant {
  conditions: Conditions;
  overrides: Record<string, unknown>;
}

/** A variant's conditions stand under `when`, or beside the fields that it overrides. */
function variants(raw: Record<string, unknown>): Variant[] {
  const list = raw.variants ?? [];
  if (!Array.isArray(list) || !list.every(isRecord)) return fail("variants must be an array of objects");
  return list.map(({ when, ...rest }) => {
    if (when !== undefined && !isRecord(when)) fail("a variant's when must be an object");
    const given = { ...rest, ...(when as Record<string, unknown> | undefined) };
    const unknown = Object.keys(when ?? {}).find((key) => !conditionKeys.some((known) => known === key));
    if (unknown !== undefined) fail(`unknown condition "${unknown}" (conditions: ${conditionKeys.join(" ")})`);
    const conditions: Conditions = {};
    for (const key of conditionKeys) if (given[key] !== undefined) conditions[key] = strings(key, given[key]);
    const overrides = Object.entries(rest).filter(([key]) => !conditionKeys.some((known) => known === key));
    return { conditions, overrides: Object.fromEntries(overrides) };
  });
}

function strings(key: string, value: unknown): string[] {
  const list = [value].flat();
  if (!list.every((item) => typeof item === "string")) fail(`condition ${key} must be a string or an array of strings`);
  return list as string[];
}
