/** The backends `openai` (OpenAI itself, and any server that speaks Chat Completions) and `openrouter`. */
import {
  type Backend,
  type BackendFactory,
  type CatalogRow,
  catalogCache,
  failures,
  fetchCatalog,
  providerFetch,
  withTextCalls,
} from "#plugins/backends";
import { chat } from "./chat.ts";
import { type Fetch, getModels } from "./client.ts";
import { bodyOf } from "./request.ts";
import { type Dialect, openai, openrouter, settings, usable } from "./settings.ts";

export interface OpenAIOptions {
  /** Base URL; the environment wins. Default: the provider's. */
  url?: string | undefined;
  /** Milliseconds without a byte that mean that the server is gone. Default 120,000. */
  idle?: number | undefined;
  env?: NodeJS.ProcessEnv;
  /** Default: the HTTP client of plugin backends. */
  fetch?: Fetch;
}

export const openaiBackend = (options: OpenAIOptions = {}): BackendFactory => factory(openai, options);

export const openrouterBackend = (options: OpenAIOptions = {}): BackendFactory => factory(openrouter, options);

function factory(of: Dialect, options: OpenAIOptions): BackendFactory {
  const env = options.env ?? process.env;
  const fetch = options.fetch ?? providerFetch({ idle: options.idle, env });
  const cached = catalogCache();
  const read = () => settings(env, options.url, of);

  function ask(signal = new AbortController().signal): Promise<CatalogRow[]> {
    const now = usable(env, options.url, of);
    const open = (stop: AbortSignal) => getModels(now, fetch, stop);
    return fetchCatalog({ open, url: now.baseURL, signal, fail: failures(of.name, now.key) });
  }

  return {
    name: of.name,
    credentials: [...of.keys, ...(of.name === "openai" ? ["OPENAI_ADMIN_KEY"] : ["OLLIE_OPENAI_KEY"])],
    /** A server of somebody else's has no default. */
    get defaultModel() {
      const now = read();
      return of.name === "openrouter" || "missing" in now || now.official ? undefined : "";
    },
    async available() {
      const now = read();
      return "missing" in now ? { ok: false, why: now.missing } : { ok: true, why: now.why };
    },
    create: ({ model: initial = "" }): Backend => {
      let model = initial;
      return {
        name: of.name,
        get model() {
          return model;
        },
        setModel(name) {
          model = name;
        },
        chatStream(messages, tools, params, signal) {
          const now = usable(env, options.url, of);
          const body = bodyOf(model, messages, tools, params, now);
          const reply = chat(body, { settings: now, fetch, fail: failures(of.name, now.key), signal });
          // What is between us and a model that is hosted by its maker, or by a router, knows the call channel.
          return now.official || now.router || tools.length === 0 ? reply : withTextCalls(reply, tools, messages);
        },
        async contextLength() {
          try {
            const rows = await cached(usable(env, options.url, of).baseURL, ask);
            return rows.find((row) => row.id === model)?.context;
          } catch {
            return undefined; // unknown; the reason is shown by `models`
          }
        },
        async models(signal) {
          return (await ask(signal)).map((row) => row.id);
        },
      };
    },
  };
}
