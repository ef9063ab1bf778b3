/** The model's argument text -> an object, or one sentence why the call can not be run. Nothing is repaired. */
import { messageOf } from "#core";
import { limits } from "./limits.ts";

export type Parsed = { args: Record<string, unknown> } | { fault: string };

/** Blank text and `null` are `{}`: models send both for a tool without parameters. */
export function parseArgs(text: string): Parsed {
  if (text.trim() === "") return { args: {} };
  let value: unknown;
  try {
    const whole = text.toWellFormed();
    value = JSON.parse(whole, /\\u[dD][89a-fA-F]/.test(whole) ? wellFormed : undefined);
  } catch (error) {
    return { fault: `arguments are no JSON (${oneLine(messageOf(error))}): ${excerpt(text)}` };
  }
  if (value === null) return { args: {} };
  if (typeof value !== "object" || Array.isArray(value))
    return { fault: `arguments must be a JSON object, not ${kindOf(value)}: ${excerpt(text)}` };
  if (tooDeep(value)) return { fault: `arguments are nested deeper than ${limits.argsDepth} levels: ${excerpt(text)}` };
  const number = unsafeInteger(text);
  if (number)
    return { fault: `arguments hold the number ${number}, which can not be kept exactly (give it as a string)` };
  return { args: value as Record<string, unknown> };
}

/** Half of a surrogate pair is no text: see history.ts. */
const wellFormed = (_key: string, value: unknown): unknown =>
  typeof value === "string" ? value.toWellFormed() : value;

const kindOf = (value: unknown): string => (Array.isArray(value) ? "an array" : `a ${typeof value}`);

const oneLine = (text: string): string => text.replace(/\s+/g, " ").slice(0, 160);

export const excerpt = (text: string, max = 120): string =>
  JSON.stringify(text.length > max ? `${text.slice(0, max)}…` : text);

/** Breadth first: it must not recurse into what it guards against. */
function tooDeep(value: object): boolean {
  let level: object[] = [value];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > limits.argsDepth) return true;
    const below: object[] = [];
    for (const node of level)
      for (const child of Object.values(node)) if (typeof child === "object" && child !== null) below.push(child);
    level = below;
  }
  return false;
}

/** An integer literal outside of strings that is too large to be exact as a double, and as the text made of it. */
function unsafeInteger(text: string): string | undefined {
  if (!/\d{16}/.test(text)) return undefined;
  // Without an alternation in the star: that takes stack for each character of a string.
  for (const [literal] of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g))
    if (/^-?\d{16,}$/.test(literal) && !Number.isSafeInteger(Number(literal))) return literal.slice(0, 40);
  return undefined;
}
