/** Replies that are bound to JSON: what the model is told, and whether it obeyed. */
import { messageOf, NineError } from "#core";

export interface JsonCheck {
  /** For the system prompt. */
  instruction: string;
  /** Only objects are accepted. */
  isObject: boolean;
  read(text: string): { value: unknown } | { wrong: string };
}

/** `given`: a JSON Schema, as text or as it is; undefined: any JSON value will do. Throws NineError for what is none. */
export async function checker(given: unknown): Promise<JsonCheck> {
  const only = "Reply with one JSON value and nothing else: no explanation, no code fence.";
  if (given === undefined) return { instruction: only, isObject: false, read: parsed };
  const schema = schemaOf(given);
  const { fromJSONSchema } = await import("zod");
  let type: ReturnType<typeof fromJSONSchema>;
  try {
    type = fromJSONSchema(schema as Parameters<typeof fromJSONSchema>[0]);
  } catch (error) {
    throw new NineError(`generate: schema: ${messageOf(error).split("\n")[0]}`);
  }
  return {
    instruction: `${only} It must be valid against this JSON Schema:\n${JSON.stringify(schema)}`,
    isObject: schema.type === "object",
    read(text) {
      const result = parsed(text);
      if ("wrong" in result) return result;
      const { error } = type.safeParse(result.value);
      // What the schema makes of a value (defaults) is not what the model said.
      return error ? { wrong: issuesOf(error.issues) } : result;
    },
  };
}

function schemaOf(given: unknown): Record<string, unknown> {
  let schema = given;
  if (typeof given === "string") {
    const result = parsed(given);
    if ("wrong" in result) throw new NineError(`generate: schema is no JSON (${result.wrong})`);
    schema = result.value;
  }
  if (typeof schema === "object" && schema !== null && !Array.isArray(schema)) return schema as Record<string, unknown>;
  throw new NineError("generate: schema must be a JSON object");
}

function parsed(text: string): { value: unknown } | { wrong: string } {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { wrong: `it is no JSON (${messageOf(error).replace(/\s+/g, " ").slice(0, 120)})` };
  }
}

function issuesOf(issues: readonly { path: readonly PropertyKey[]; message: string }[]): string {
  const lines = issues
    .slice(0, 5)
    .map(({ path, message }) => `${path.map(String).join(".") || "the value"}: ${message}`);
  return lines.join("; ");
}
