/** The backend `openai`: OpenAI itself, and any server that speaks Chat Completions. */
import { type Backend, type BackendFactory, withTextCalls } from "#plugins/backends";
import { catalogCache, fetchCatalog } from "./catalog.ts";
import { chat } from "./chat.ts";
import type { Fetch } from "./client.ts";
import { bodyOf } from "./request.ts";
import { keyNames, settings, usable } from "./settings.ts";

export interface OpenAIOptions {
  /** Base URL; OLLIE_OPENAI_URL wins. Default: OpenAI's. */
  url?: string | undefined;
  /** Milliseconds without a byte that mean that the server is gone. Default 120,000. */
  idle?: number | undefined;
  env?: NodeJS.ProcessEnv;
  /** Default: the global one, looked up at each request. */
  fetch?: Fetch;
}

export function openaiBackend(options: OpenAIOptions = {}): BackendFactory {
  const env = options.env ?? process.env;
  const send: Fetch = options.fetch ?? ((...request) => globalThis.fetch(...request));
  const idle = options.idle ?? 120_000;
  const cached = catalogCache();
  const catalog = () => {
    const now = usable(env, options.url);
    return cached(now.baseURL, () => fetchCatalog(now, send));
  };
  return {
    name: "openai",
    credentials: [...keyNames, "OPENAI_ADMIN_KEY"],
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
        name: "openai",
        get model() {
          return model;
        },
        setModel(name) {
          model = name;
        },
        chatStream(messages, tools, params, signal) {
          const now = usable(env, options.url);
          const body = bodyOf(model, messages, tools, params, now.official);
          const reply = chat(body, { settings: now, fetch: send, idle, signal });
          return now.official || tools.length === 0 ? reply : withTextCalls(reply, tools, messages);
        },
        async contextLength() {
          try {
            return (await catalog()).find((row) => row.id === model)?.context;
          } catch {
            return undefined; // unknown; the reason is shown by `models`
          }
        },
        async models(signal) {
          return (await fetchCatalog(usable(env, options.url), send, signal)).map((row) => row.id);
        },
      };
    },
  };
}
