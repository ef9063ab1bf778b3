/** Keeps secrets out of log lines: by the name of a field, by the shape of a text, and by the values that the environment holds. */
import { isCredential } from "#plugins/sessions";

const HIDDEN = "[hidden]";
const secretName = /key|token|secret|passw|authorization|cookie/i;
const DEPTH = 6;

/** A copy of `fields` without the values of secret fields. Numbers and booleans stay: `tokens: 12` is no secret. */
export function redactFields(fields: Record<string, unknown>, depth = DEPTH): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, redactField(name, value, depth)]));
}

function redactField(name: string, value: unknown, depth: number): unknown {
  if (value === null || value === undefined || typeof value === "number" || typeof value === "boolean") return value;
  if (secretName.test(name)) return HIDDEN;
  if (value instanceof Error) return { message: value.message, stack: value.stack };
  if (typeof value !== "object") return value;
  if (depth === 0) return "[deep]";
  if (Array.isArray(value)) return value.map((item) => redactField("", item, depth - 1));
  return redactFields(value as Record<string, unknown>, depth - 1);
}

/** A finished line without bearer tokens and without the values of variables that hold a secret. */
export function redactLine(line: string, env: NodeJS.ProcessEnv = process.env): string {
  let clean = line.replace(/\b(bearer|basic)(\s+)[\w.~+/=-]{8,}/gi, `$1$2${HIDDEN}`);
  for (const [name, value] of Object.entries(env))
    if (value !== undefined && value.length >= 8 && isCredential(name)) clean = clean.replaceAll(value, HIDDEN);
  return clean;
}
