/**
 * The window that a model gets. A server that is not told runs with its own default, which is far below what the model
 * claims, and drops the beginning of a longer prompt without a word. So it is told, and what it is told is what we count on.
 */

/** Tokens, where nobody chose: a window costs memory, and models claim more than a desk has. */
export const usual = 32_768;

export interface ModelFacts {
  /** The most that the model can, in tokens. */
  most?: number;
  /** What its Modelfile asks for. */
  asked?: number;
  /** `tools`, `thinking`, …; undefined: the server does not say. */
  capabilities?: readonly string[];
}

/** Facts of an answer of /api/show. */
export function factsOf(show: unknown): ModelFacts {
  const { model_info, parameters, capabilities } = (show ?? {}) as Record<string, unknown>;
  const info = Object.entries((model_info ?? {}) as Record<string, unknown>);
  const most = tokens(info.find(([key]) => key.endsWith(".context_length"))?.[1]);
  const asked = tokens(typeof parameters === "string" ? /^\s*num_ctx\s+(\d+)/m.exec(parameters)?.[1] : undefined);
  return {
    ...(most === undefined ? {} : { most }),
    ...(asked === undefined ? {} : { asked }),
    ...(Array.isArray(capabilities) ? { capabilities: capabilities.map(String) } : {}),
  };
}

/** The window of the running `model` in an answer of /api/ps; undefined where it does not run, or the server does not say. */
export function loadedWindow(ps: unknown, model: string): number | undefined {
  const { models } = (ps ?? {}) as { models?: unknown };
  if (!Array.isArray(models)) return undefined;
  const full = model.includes(":") ? model : `${model}:latest`;
  const row = (models as Record<string, unknown>[]).find(({ name, model: id }) => name === full || id === full);
  return tokens(row?.context_length);
}

/**
 * num_ctx to send. `chosen`: by the user. A larger one that runs is kept, since changing it loads the model again;
 * undefined only where nothing is known of the model.
 */
export function windowOf(facts: ModelFacts, loaded: number | undefined, chosen: number | undefined): number {
  const wanted = chosen ?? facts.asked ?? Math.max(usual, loaded ?? 0);
  return Math.min(wanted, facts.most ?? wanted);
}

/** A count that makes sense; some servers write it as text. */
function tokens(value: unknown): number | undefined {
  const number = Number(value ?? Number.NaN);
  return Number.isInteger(number) && number > 0 ? number : undefined;
}

/**
 * A sentence where the server took far fewer tokens than the request holds: it cut the prompt. Four characters a token is
 * rough, so only half of that counts as far.
 */
export function shortfall(characters: number, taken: number, window: number): string | undefined {
  const estimate = Math.round(characters / 4);
  if (estimate < 2_000 || taken <= 0 || taken >= estimate / 2) return undefined;
  return `ollama: the server took ${taken} tokens of a prompt of about ${estimate}: it cut the rest off (num_ctx sent: ${window}; its own limit may be lower)`;
}
