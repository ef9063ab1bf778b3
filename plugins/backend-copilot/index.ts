/** Plugin backend-copilot: the models of a GitHub Copilot subscription. */
import * as z from "zod/mini";
import { definePlugin } from "#core";
import { type BackendFactory, Backends } from "#plugins/backends";
import { options } from "#plugins/options";
import type { CopilotOptions } from "./backend.ts";
import { settings, tokenNames } from "./settings.ts";

/** The rest is loaded with the first agent. */
export function copilotBackend(options: CopilotOptions = {}): BackendFactory {
  let backends: Promise<ReturnType<typeof import("./backend.ts").copilotBackends>> | undefined;
  return {
    name: "copilot",
    credentials: tokenNames,
    defaultModel: undefined,
    async available() {
      const now = settings(options.env ?? process.env);
      return "missing" in now ? { ok: false, why: now.missing } : { ok: true, why: `a login is in ${now.from}` };
    },
    async create({ model = "" }) {
      backends ??= import("./backend.ts").then(({ copilotBackends }) => copilotBackends(options));
      return (await backends)(model);
    },
  };
}

export default definePlugin({
  name: "backend-copilot",
  doc: "Backend `copilot`: the models of a GitHub Copilot subscription, after `ollie-login copilot` or with OLLIE_COPILOT_TOKEN.",
  config: options(
    z.strictObject({
      /** Milliseconds without a byte that mean that the server is gone. Default 120,000. */
      idle: z.optional(z.int().check(z.positive())),
    }),
  ),
  needs: [Backends],
  caps: ["net"],
  setup({ config, use, defer }) {
    defer(use(Backends).register(copilotBackend(config)));
  },
});
