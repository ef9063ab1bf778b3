/** Plugin backend-anthropic: Claude, and every server that speaks its Messages protocol. */
import * as z from "zod/mini";
import { definePlugin } from "#core";
import { Backends } from "#plugins/backends";
import { options } from "#plugins/options";
import { anthropicBackend } from "./factory.ts";

export default definePlugin({
  name: "backend-anthropic",
  doc: "Backend `anthropic`: Claude, by OLLIE_ANTHROPIC_KEY and OLLIE_MODEL.",
  config: options(
    z.strictObject({
      /** Base URL; OLLIE_ANTHROPIC_URL wins. */
      url: z.optional(z.string()),
      /** Milliseconds without a byte that mean that the server is gone. Default 120,000. */
      idle: z.optional(z.int().check(z.positive())),
    }),
  ),
  needs: [Backends],
  caps: ["net"],
  setup({ config, use, defer }) {
    defer(use(Backends).register(anthropicBackend(config)));
  },
});
