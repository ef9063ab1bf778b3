/** Token counts in the shapes that servers send. */
import type { Usage } from "#plugins/backends";

const number = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;

const at = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>)[key] : undefined;

/**
 * Usage of a chunk, wherever it stands; undefined where it has none. On this wire cached tokens are part of
 * `prompt_tokens` and reasoning is part of `completion_tokens`, as in our Usage.
 */
export function usageOf(chunk: unknown): Usage | undefined {
  const raw = at(chunk, "usage") ?? at(at(chunk, "x_groq"), "usage");
  const input = number(at(raw, "prompt_tokens"));
  if (input === undefined) return undefined;
  const cached =
    number(at(at(raw, "prompt_tokens_details"), "cached_tokens")) ?? number(at(raw, "prompt_cache_hit_tokens"));
  const written = number(at(at(raw, "prompt_tokens_details"), "cache_write_tokens"));
  const reasoning = number(at(at(raw, "completion_tokens_details"), "reasoning_tokens"));
  const cost = number(at(raw, "cost"));
  return {
    input,
    output: number(at(raw, "completion_tokens")) ?? 0,
    ...(cached === undefined ? {} : { cachedInput: cached }),
    ...(written === undefined ? {} : { cacheCreation: written }),
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(cost === undefined ? {} : { costUSD: cost }),
  };
}

/** Four characters a token, where the server does not count. */
export const estimate = (sent: number, received: number): Usage => ({
  input: Math.ceil(sent / 4),
  output: Math.ceil(received / 4),
  estimated: true,
});
