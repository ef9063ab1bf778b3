/** Plugin backend-ollama: models on one's own machine. */
import * as z from "zod/mini";
import { definePlugin, messageOf } from "#core";
import { type BackendFactory, Backends } from "#plugins/backends";
import { options } from "#plugins/options";
import type { OllamaOptions } from "./backend.ts";
import { prober } from "./probe.ts";
import { keyNames, settings } from "./settings.ts";

/** The rest is loaded with the first agent. */
export function ollamaBackend(options: OllamaOptions = {}): BackendFactory {
  const answers = prober();
  let backends: Promise<ReturnType<typeof import("./backend.ts").ollamaBackends>> | undefined;
  return {
    name: "ollama",
    credentials: keyNames,
    defaultModel: undefined,
    async available() {
      try {
        const { url, from } = settings(options.env ?? process.env, options.url);
        if (from) return { ok: true, why: `${from} is set` };
        const ok = await answers(url);
        return { ok, why: ok ? `Ollama answers at ${url}` : `no Ollama at ${url}, and OLLIE_OLLAMA_URL is not set` };
      } catch (error) {
        return { ok: false, why: messageOf(error) };
      }
    },
    async create({ model = "" }) {
      backends ??= import("./backend.ts").then(({ ollamaBackends }) => ollamaBackends(options));
      return (await backends)(model);
    },
  };
}

export default definePlugin({
  name: "backend-ollama",
  doc: "Backend `ollama`: an Ollama server at OLLIE_OLLAMA_URL, OLLAMA_HOST or on this machine.",
  config: options(
    z.strictObject({
      /** Base URL; OLLIE_OLLAMA_URL wins. Default http://127.0.0.1:11434. */
      url: z.optional(z.string()),
      /** Tokens of the window (num_ctx); OLLIE_OLLAMA_CONTEXT wins. Default: what the Modelfile asks for, else 32,768. */
      context: z.optional(z.int().check(z.positive())),
      /** Milliseconds without a byte that mean that the server is gone. Default 300,000: it loads models. */
      idle: z.optional(z.int().check(z.positive())),
    }),
  ),
  needs: [Backends],
  caps: ["net"],
  setup({ config, use, defer }) {
    defer(use(Backends).register(ollamaBackend(config)));
  },
});
