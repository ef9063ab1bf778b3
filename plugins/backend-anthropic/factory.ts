/** The backend `anthropic`: Anthropic itself, and servers that speak its Messages protocol. */
import {
  type Backend,
  type BackendFactory,
  type CatalogRow,
  catalogCache,
  failures,
  fetchCatalog,
  type ProviderFetch,
  providerFetch,
} from "#plugins/backends";
import { chat } from "./chat.ts";
import { getModels } from "./client.ts";
import { requestOf } from "./request.ts";
import { keyNames, settings, usable } from "./settings.ts";

export interface AnthropicOptions {
  /** Base URL; the environment wins. Default: Anthropic's. */
  url?: string | undefined;
  /** Milliseconds without a byte that mean that the server is gone. Default 120,000. */
  idle?: number | undefined;
  env?: NodeJS.ProcessEnv;
  /** Default: the HTTP client of plugin backends. */
  fetch?: ProviderFetch;
}

/** Tokens that every Claude model takes, where its list does not say more. */
const window = 200_000;

export function anthropicBackend(options: AnthropicOptions = {}): BackendFactory {
  const env = options.env ?? process.env;
  const fetch = options.fetch ?? providerFetch({ idle: options.idle, env });
  const cached = catalogCache();

  function ask(signal = new AbortController().signal): Promise<CatalogRow[]> {
    const now = usable(env, options.url);
    const open = (stop: AbortSignal) => getModels(now, fetch, stop);
    return fetchCatalog({ open, url: now.baseURL, signal, fail: failures("anthropic", now.key) });
  }

  return {
    name: "anthropic",
    credentials: keyNames,
    /** A server of somebody else's has no default. */
    get defaultModel() {
      const now = settings(env, options.url);
      return "missing" in now || now.official ? undefined : "";
    },
    async available() {
      const now = settings(env, options.url);
      return "missing" in now ? { ok: false, why: now.missing } : { ok: true, why: now.why };
    },
    create: ({ model: initial = "" }): Backend => {
      let model = initial;
      return {
        name: "anthropic",
        get model() {
          return model;
        },
        setModel(name) {
          model = name;
        },
        chatStream(messages, tools, params, signal) {
          const now = usable(env, options.url);
          const request = requestOf(model, messages, tools, params);
          return chat(request, { settings: now, fetch, fail: failures("anthropic", now.key), signal });
        },
        async contextLength() {
          const fallback = /claude/i.test(model) ? window : undefined;
          try {
            const rows = await cached(usable(env, options.url).baseURL, ask);
            return rows.find((row) => row.id === model)?.context ?? fallback;
          } catch {
            return fallback; // the reason is shown by `models`
          }
        },
        async models(signal) {
          return (await ask(signal)).map((row) => row.id);
        },
      };
    },
  };
}
