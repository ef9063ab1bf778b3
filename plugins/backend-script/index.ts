/** Plugin backend-script: scripted replies, for the first run without a key, for demos and for tests. */
import * as z from "zod";
import { definePlugin } from "#core";
import { Backends } from "#plugins/backends";
import { scriptBackend } from "./factory.ts";

export default definePlugin({
  name: "backend-script",
  doc: "Backend `script`: replies from a scenario (OLLIE_SCRIPT), else an offline script that runs real tools.",
  config: z
    .strictObject({
      /** Path of a YAML or JSON file, or the scenario itself. OLLIE_SCRIPT wins. */
      scenario: z.union([z.string(), z.record(z.string(), z.unknown())]).optional(),
    })
    .default({}),
  needs: [Backends],
  setup({ config, use, defer }) {
    defer(use(Backends).register(scriptBackend(config)));
  },
});
