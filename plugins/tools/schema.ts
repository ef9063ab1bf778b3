/** Checks of JSON Schemas in .meta files: one schema that a provider refuses would spoil every request. */
import type { ArgsSchema } from "./types.ts";

const types = new Set(["string", "number", "integer", "boolean", "array", "object", "null"]);

/** Arguments that ollie adds to every tool itself. */
export const reserved = ["bypass", "timeout", "sandbox", "background"] as const;

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** What is wrong with a tool's `args`, or undefined. */
export function argsFault(args: unknown): string | undefined {
  if (!isRecord(args)) return "args must be a JSON Schema object";
  if (args.type !== "object") return `args must have "type": "object", not ${JSON.stringify(args.type) ?? "none"}`;
  for (const name of reserved)
    if (isRecord(args.properties) && Object.hasOwn(args.properties, name))
      return `argument "${name}" is added by ollie itself, give it another name`;
  return objectFault(args, "args", 0);
}

function objectFault(schema: Record<string, unknown>, at: string, depth: number): string | undefined {
  const { properties, required } = schema;
  if (properties !== undefined && !isRecord(properties)) return `${at}.properties must be an object`;
  for (const [name, property] of Object.entries(properties ?? {})) {
    if (name === "") return `${at}.properties has an empty name`;
    const fault = schemaFault(property, `${at}.properties.${name}`, depth + 1);
    if (fault) return fault;
  }
  if (required === undefined) return undefined;
  if (!Array.isArray(required) || required.some((name) => typeof name !== "string"))
    return `${at}.required must be an array of names`;
  const unknown = required.find((name) => !Object.hasOwn(properties ?? {}, name));
  return unknown === undefined ? undefined : `${at}.required names "${unknown}", which is not in properties`;
}

function schemaFault(schema: unknown, at: string, depth: number): string | undefined {
  if (depth > 20) return `${at} is nested too deep (at most 20)`;
  if (!isRecord(schema)) return `${at} must be an object`;
  const { type } = schema;
  const listed = Array.isArray(type) ? type : type === undefined ? [] : [type];
  const wrong = listed.find((name) => typeof name !== "string" || !types.has(name));
  if (wrong !== undefined || (Array.isArray(type) && type.length === 0))
    return `${at}.type must be one of ${[...types].join(" ")}, not ${JSON.stringify(wrong ?? type)}`;
  if (schema.enum !== undefined && (!Array.isArray(schema.enum) || schema.enum.length === 0))
    return `${at}.enum must be an array with at least one value`;
  if (schema.description !== undefined && typeof schema.description !== "string")
    return `${at}.description must be a string`;
  if (listed.includes("array") && schema.items === undefined) return `${at} is an array and needs "items"`;
  if (schema.items !== undefined && !Array.isArray(schema.items)) {
    const fault = schemaFault(schema.items, `${at}.items`, depth + 1);
    if (fault) return fault;
  }
  return objectFault(schema, at, depth);
}

/** The argument that names the file which a tool changes, where the .meta says nothing. */
export const guessPathArg = (args: ArgsSchema): string | undefined =>
  ["file_path", "path"].find((name) => Object.hasOwn(args.properties ?? {}, name));
