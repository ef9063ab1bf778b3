/** Plugin backend-openai: OpenAI and every server that speaks its Chat Completions. */
import * as z from "zod";
import { definePlugin } from "#core";
import { Backends } from "#plugins/backends";
import { openaiBackend } from "./factory.ts";

export default definePlugin({
  name: "backend-openai",
  doc: "Backend `openai`: OpenAI and compatible servers, by OLLIE_OPENAI_KEY, OLLIE_OPENAI_URL and OLLIE_MODEL.",
  config: z
    .strictObject({
      /** Base URL without `/v1`; OLLIE_OPENAI_URL wins. */
      url: z.string().optional(),
      /** Milliseconds without a byte that mean that the server is gone. Default 120,000. */
      idle: z.number().int().positive().optional(),
    })
    .default({}),
  needs: [Backends],
  caps: ["net"],
  setup({ config, use, defer }) {
    defer(use(Backends).register(openaiBackend(config)));
  },
});
