/** Plugin backend-gemini: Google's Gemini models. */
import * as z from "zod/mini";
import { definePlugin } from "#core";
import { type BackendFactory, Backends } from "#plugins/backends";
import { options } from "#plugins/options";
import type { GeminiOptions } from "./backend.ts";
import { keyNames, settings } from "./settings.ts";

/** The rest is loaded with the first agent. */
export function geminiBackend(options: GeminiOptions = {}): BackendFactory {
  let backends: Promise<ReturnType<typeof import("./backend.ts").geminiBackends>> | undefined;
  return {
    name: "gemini",
    credentials: keyNames,
    defaultModel: undefined,
    async available() {
      const now = settings(options.env ?? process.env, options.url);
      return "missing" in now ? { ok: false, why: now.missing } : { ok: true, why: `${now.from} is set` };
    },
    async create({ model = "" }) {
      backends ??= import("./backend.ts").then(({ geminiBackends }) => geminiBackends(options));
      return (await backends)(model);
    },
  };
}

export default definePlugin({
  name: "backend-gemini",
  doc: "Backend `gemini`: Google's Gemini models, by OLLIE_GEMINI_KEY, GEMINI_API_KEY or GOOGLE_API_KEY.",
  config: options(
    z.strictObject({
      /** Base URL; OLLIE_GEMINI_URL wins. */
      url: z.optional(z.string()),
      /** Milliseconds without a byte that mean that the server is gone. Default 120,000. */
      idle: z.optional(z.int().check(z.positive())),
    }),
  ),
  needs: [Backends],
  caps: ["net"],
  setup({ config, use, defer }) {
    defer(use(Backends).register(geminiBackend(config)));
  },
});
