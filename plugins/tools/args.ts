/** A call's arguments: ollie's own flags are taken out, the rest is checked against the tool's schema. */
import { isRecord } from "./schema.ts";
import type { ArgsSchema, Tool } from "./types.ts";

interface Flag {
  /** What the model reads about it; undefined: not offered. */
  schema?: Record<string, unknown>;
  /** A sentence that says what is wrong with the value. */
  fault(value: unknown): string | undefined;
}

const longest = 2_000_000;

/** Takes anything that asks for nothing: models send `false` and `""` for arguments that they do not want. */
const notYet = (name: string): Flag => ({
  fault: (value) =>
    value === false || value === "" || value === null ? undefined : `${name} is not available yet, leave it out`,
});

const flags: Record<string, Flag> = {
  timeout: {
    schema: { type: "integer", description: "Seconds after which the call is ended; 0: no limit", minimum: 0 },
    fault: (value) =>
      value === null || (typeof value === "number" && value >= 0 && value <= longest)
        ? undefined
        : `timeout must be seconds from 0 (no limit) to ${longest}`,
  },
  bypass: notYet("bypass"),
  sandbox: {
    schema: { type: "string", description: "Name of a narrower sandbox profile for this call" },
    fault: (value) => (value === null || typeof value === "string" ? undefined : "sandbox must be a profile's name"),
  },
  background: {
    schema: {
      type: "boolean",
      description: "Let it run in the background: the result comes at once, its output and its end later",
    },
    fault: (value) => (value === null || typeof value === "boolean" ? undefined : "background must be true or false"),
  },
};

/**
 * Whether only the declared arguments are taken. JSON Schema says no where nothing is said; models make up names, and a
 * call that runs without what it asked for answers another question than theirs (docs/decisions/013-unknown-arguments.md).
 */
const isClosed = (args: ArgsSchema): boolean =>
  (args.additionalProperties ?? false) === false && !elsewhere.some((keyword) => Object.hasOwn(args, keyword));

/** Keywords that declare arguments in places other than `properties`. */
const elsewhere = ["patternProperties", "allOf", "anyOf", "oneOf", "$ref"];

/** The schema that the model gets: the tool's own and the flags that can be used. */
export function offeredArgs(tool: Tool): ArgsSchema {
  const extra: Record<string, Record<string, unknown>> = {};
  for (const [name, { schema }] of Object.entries(flags))
    if (schema)
      extra[name] =
        name === "timeout" ? { ...schema, description: `${schema.description} (default ${tool.timeout})` } : schema;
  const properties = { ...tool.args.properties, ...extra };
  return { ...tool.args, properties, ...(isClosed(tool.args) && { additionalProperties: false }) };
}

export type CheckedArgs =
  | { ok: true; args: Record<string, unknown>; timeout: number; background: boolean; sandbox?: string | undefined }
  /** One sentence for the model. */
  | { ok: false; error: string };

/**
 * Takes the flags out, renames aliases, drops optional arguments that are null and checks the rest: known ones only,
 * required ones present, types of the top level right. `timeout` in milliseconds, 0 for none: what runs in the background has none.
 */
export function checkArgs(tool: Tool, given: Record<string, unknown>): CheckedArgs {
  const bad = (what: string): CheckedArgs => ({ ok: false, error: `${tool.name}: ${what}` });
  const args = new Map<string, unknown>();
  let seconds = tool.timeout;
  let background = false;
  let sandbox: string | undefined;
  for (const [key, value] of Object.entries(given)) {
    const flag = Object.hasOwn(flags, key) ? flags[key] : undefined;
    if (flag) {
      const fault = flag.fault(value);
      if (fault) return bad(fault);
      if (key === "timeout" && typeof value === "number") seconds = value;
      if (key === "background") background = value === true;
      if (key === "sandbox" && typeof value === "string") sandbox = value.trim() || undefined;
      continue;
    }
    const name = nameOf(tool, key);
    if (args.has(name)) return bad(`"${key}" and "${name}" are the same argument, give one`);
    if (value !== null) args.set(name, value);
  }
  const fault = argsFault(tool, args);
  if (fault) return bad(fault);
  return {
    ok: true,
    args: Object.fromEntries(args),
    timeout: background ? 0 : Math.round(seconds * 1000),
    background,
    ...(sandbox && { sandbox }),
  };
}

function nameOf(tool: Tool, key: string): string {
  const known = Object.hasOwn(tool.args.properties ?? {}, key);
  return !known && tool.aliases && Object.hasOwn(tool.aliases, key) ? (tool.aliases[key] ?? key) : key;
}

function argsFault(tool: Tool, args: ReadonlyMap<string, unknown>): string | undefined {
  const properties = tool.args.properties ?? {};
  const known = () => `(arguments: ${Object.keys(offeredArgs(tool).properties ?? {}).join(" ")})`;
  // Before what is missing: where `old-string` was given, that is why `old_string` is not there.
  const unknown = isClosed(tool.args) ? [...args.keys()].filter((name) => !Object.hasOwn(properties, name)) : [];
  if (unknown.length > 0)
    return `unknown argument${unknown.length > 1 ? "s" : ""} ${unknown.map((name) => JSON.stringify(name)).join(", ")} ${known()}`;
  for (const name of tool.args.required ?? [])
    if (!args.has(name)) return `required argument "${name}" is missing ${known()}`;
  for (const [name, value] of args) {
    const schema = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (schema === undefined) continue;
    const wanted = [schema.type ?? []].flat().map(String);
    if (wanted.length > 0 && !wanted.some((type) => isType(type, value)))
      return `argument "${name}" must be ${wanted.map(article).join(" or ")}, not ${article(typeOf(value))}`;
    if (Array.isArray(schema.enum) && !schema.enum.includes(value))
      return `argument "${name}" must be one of ${schema.enum.map((item) => JSON.stringify(item)).join(" ")}`;
  }
  return undefined;
}

function isType(type: string, value: unknown): boolean {
  if (type === "integer") return Number.isInteger(value);
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isRecord(value);
  return type === typeof value;
}

const typeOf = (value: unknown): string => (Array.isArray(value) ? "array" : typeof value);

const article = (type: string): string => (/^[aio]/.test(type) ? `an ${type}` : `a ${type}`);
