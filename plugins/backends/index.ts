/** Plugin backends: the registry of model providers, /backends, /models and /usage. Providers are plugins of their own. */
import * as z from "zod/mini";
import { definePlugin, Root } from "#core";
import { Backends } from "#plugins/backends";
import { invalidate } from "#plugins/control";
import { Events } from "#plugins/events";
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
  wants: [Events],
  setup({ config, log, mount, on, provide, tryUse }) {
    const warn = (text: string) => {
      log.warn(text);
      tryUse(Events)?.publish("backends.warning", `E backends ${text}`);
    };
    const load = envFile(process.env);
    let fault: string | undefined;
    const refresh = () => {
      const before = fault;
      fault = load();
      if (fault !== undefined && fault !== before) warn(fault);
    };
    refresh();
    const backends = registry({ ...config, refresh, warn });
    provide(Backends, backends);
    on(invalidate, (what) => {
      if (what === undefined || what === "models") backends.invalidate();
    });
    mount(Root, ...files(backends, () => fault));
  },
});
