/** Token counts as this provider gives them. */
import type { Usage } from "#plugins/backends";

const number = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;

type Raw = Record<string, unknown>;

/** Later counts replace earlier ones: they are totals, and null where there is nothing new. */
export function merge(into: Raw, more: unknown): void {
  if (typeof more !== "object" || more === null) return;
  for (const [key, value] of Object.entries(more)) if (value !== null && value !== undefined) into[key] = value;
}

/** Undefined where nothing was counted. On this wire cached and written tokens stand beside `input_tokens`. */
export function usageOf(raw: Raw): Usage | undefined {
  const fresh = number(raw.input_tokens);
  const output = number(raw.output_tokens);
  if (fresh === undefined || output === undefined) return undefined;
  const cached = number(raw.cache_read_input_tokens);
  const written = number(raw.cache_creation_input_tokens);
  const thinking = number((raw.output_tokens_details as Raw | undefined)?.thinking_tokens);
  return {
    input: fresh + (cached ?? 0) + (written ?? 0),
    output,
    ...(cached === undefined ? {} : { cachedInput: cached }),
    ...(written === undefined ? {} : { cacheCreation: written }),
    ...(thinking === undefined ? {} : { reasoning: thinking }),
  };
}

/** Four characters a token, where the server does not count. */
export const estimate = (sent: number, received: number): Usage => ({
  input: Math.ceil(sent / 4),
  output: Math.ceil(received / 4),
  estimated: true,
});
