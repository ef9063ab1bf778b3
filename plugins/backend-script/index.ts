/** Plugin backend-script: scripted replies, for the first run without a key, for demos and for tests. */
import * as z from "zod/mini";
import { definePlugin } from "#core";
import { Backends } from "#plugins/backends";
import { options } from "#plugins/options";
import { scriptBackend } from "./factory.ts";

export default definePlugin({
  name: "backend-script",
  doc: "Backend `script`: replies from a scenario (OLLIE_SCRIPT), else an offline script that runs real tools.",
  config: options(
    z.strictObject({
      /** Path of a YAML or JSON file, or the scenario itself. OLLIE_SCRIPT wins. */
      scenario: z.optional(z.union([z.string(), z.record(z.string(), z.unknown())])),
    }),
  ),
  needs: [Backends],
  setup({ config, use, defer }) {
    defer(use(Backends).register(scriptBackend(config)));
  },
});
