/** Plugin backend-openai: OpenAI, every server that speaks its Chat Completions, and OpenRouter. */
import * as z from "zod/mini";
import { definePlugin } from "#core";
import { Backends } from "#plugins/backends";
import { options } from "#plugins/options";
import { openaiBackend, openrouterBackend } from "./factory.ts";

export default definePlugin({
  name: "backend-openai",
  doc: "Backends `openai` (also compatible servers; OLLIE_OPENAI_KEY, OLLIE_OPENAI_URL) and `openrouter` (OLLIE_OPENROUTER_KEY).",
  config: options(
    z.strictObject({
      /** Base URL of `openai` without `/v1`; OLLIE_OPENAI_URL wins. */
      url: z.optional(z.string()),
      /** Milliseconds without a byte that mean that the server is gone. Default 120,000. */
      idle: z.optional(z.int().check(z.positive())),
    }),
  ),
  needs: [Backends],
  caps: ["net"],
  setup({ config, use, defer }) {
    const backends = use(Backends);
    defer(backends.register(openaiBackend(config)));
    defer(backends.register(openrouterBackend({ idle: config.idle })));
  },
});
