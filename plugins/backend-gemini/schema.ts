/** JSON Schema -> the subset that function declarations take: an unknown keyword is refused with the whole request. */

type Schema = Record<string, unknown>;

/** Keywords that are kept as they are, where their value has the right form. */
const plain = [
  "title",
  "description",
  "minItems",
  "maxItems",
  "minProperties",
  "maxProperties",
  "minLength",
  "maxLength",
  "pattern",
  "minimum",
  "maximum",
  "nullable",
  "default",
] as const;

const formats: Record<string, readonly string[]> = {
  string: ["date-time", "enum"],
  number: ["float", "double"],
  integer: ["int32", "int64"],
};

/** Levels of `$ref` that are followed: a schema that refers to itself ends there. */
const deepest = 8;

/** The parameters of a tool; undefined where it has none (an object without properties is refused). */
export function parametersOf(schema: Schema): Schema | undefined {
  const made = convert(schema, schema, 0);
  return isObject(made.properties) ? made : undefined;
}

function convert(given: unknown, root: Schema, depth: number): Schema {
  const { schema, depth: level } = resolve(isObject(given) ? given : {}, root, depth);
  const { type, nullable } = typeOf(schema);
  const out: Schema = {};
  if (type !== undefined) out.type = type;
  for (const key of plain) if (schema[key] !== undefined) out[key] = schema[key];
  if (nullable) out.nullable = true;
  const values = schema.const === undefined ? schema.enum : [schema.const];
  // Only strings can be enumerated.
  if (Array.isArray(values) && values.every((value) => typeof value === "string")) {
    out.enum = values;
    out.type = "string";
  }
  if (typeof schema.format === "string" && formats[type ?? ""]?.includes(schema.format)) out.format = schema.format;
  const choices = alternatives(schema);
  if (choices.length > 0) {
    const real = choices.filter((choice) => !isObject(choice) || choice.type !== "null");
    if (real.length < choices.length) out.nullable = true;
    if (real.length === 1) return { ...convert(real[0], root, level), ...out };
    out.anyOf = real.map((choice) => convert(choice, root, level));
  }
  if (type === "array" || schema.items !== undefined)
    out.items = convert(Array.isArray(schema.items) ? schema.items[0] : schema.items, root, level);
  const properties = Object.entries(isObject(schema.properties) ? schema.properties : {});
  if (properties.length > 0) {
    out.properties = Object.fromEntries(properties.map(([name, value]) => [name, convert(value, root, level)]));
    const names = new Set(properties.map(([name]) => name));
    const required = Array.isArray(schema.required) ? schema.required.filter((name) => names.has(name)) : [];
    if (required.length > 0) out.required = required;
  }
  if (out.type === undefined && out.anyOf === undefined) out.type = properties.length > 0 ? "object" : "string";
  return out;
}

/** The schema behind `$ref`, and with the parts of `allOf` in it. */
function resolve(given: Schema, root: Schema, depth: number): { schema: Schema; depth: number } {
  let schema = given;
  let level = depth;
  while (typeof schema.$ref === "string") {
    const { $ref: ref, ...own } = schema;
    schema = level < deepest ? { ...pointed(root, ref as string), ...own } : own;
    level++;
  }
  if (!Array.isArray(schema.allOf)) return { schema, depth: level };
  const parts = schema.allOf.map((part) => resolve(isObject(part) ? part : {}, root, level).schema);
  const merged = Object.assign({}, ...parts, schema) as Schema;
  merged.properties = Object.assign({}, ...[...parts, schema].map(({ properties }) => properties ?? {}));
  merged.required = [...parts, schema].flatMap(({ required }) => (Array.isArray(required) ? required : []));
  return { schema: merged, depth: level };
}

/** `#/$defs/name` */
function pointed(root: Schema, ref: string): Schema {
  let at: unknown = root;
  for (const part of ref.replace(/^#\/?/, "").split("/").filter(Boolean))
    at = isObject(at) ? at[part.replaceAll("~1", "/").replaceAll("~0", "~")] : undefined;
  return isObject(at) ? at : {};
}

/** A list of types is one type that may be null, or alternatives. */
function typeOf({ type }: Schema): { type: string | undefined; nullable: boolean } {
  if (typeof type === "string") return { type, nullable: false };
  if (!Array.isArray(type)) return { type: undefined, nullable: false };
  const real = type.filter((name) => name !== "null");
  return { type: real.length === 1 ? String(real[0]) : undefined, nullable: real.length < type.length };
}

function alternatives(schema: Schema): unknown[] {
  for (const key of ["anyOf", "oneOf"]) if (Array.isArray(schema[key])) return schema[key] as unknown[];
  const types = Array.isArray(schema.type) ? schema.type.filter((name) => name !== "null") : [];
  return types.length > 1 ? types.map((type) => ({ type })) : [];
}

const isObject = (value: unknown): value is Schema =>
  typeof value === "object" && value !== null && !Array.isArray(value);
