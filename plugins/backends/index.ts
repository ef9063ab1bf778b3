/** Plugin backends: the registry of model providers, /backends, /models and /usage. Providers are plugins of their own. */
import * as z from "zod/mini";
import { definePlugin, Root } from "#core";
import { Backends } from "#plugins/backends";
import { invalidate } from "#plugins/control";
import { options } from "#plugins/options";
import { envFile } from "./envfile.ts";
import { files } from "./files.ts";
import { registry } from "./registry.ts";

export default definePlugin({
  name: "backends",
  doc: "Registry of model providers: which are usable, which one is chosen and why, their models, and what they used.",
  config: options(
    z.strictObject({
      /** Backend of agents that name none; OLLIE_BACKEND wins. */
      backend: z.optional(z.string()),
      /** Their model; OLLIE_MODEL wins. */
      model: z.optional(z.string()),
    }),
  ),
  provides: [Backends],
  setup({ config, log, mount, on, provide }) {
    const load = envFile(process.env);
    const refresh = () => {
      const problem = load();
      if (problem !== undefined) log.warn(problem);
    };
    refresh();
    const backends = registry({ ...config, refresh, warn: (text) => log.warn(text) });
    provide(Backends, backends);
    on(invalidate, (what) => {
      if (what === undefined || what === "models") backends.invalidate();
    });
    mount(Root, ...files(backends));
  },
});
