/** Plugin backend-kiro: Amazon's CodeWhisperer service (Kiro). */
import * as z from "zod/mini";
import { definePlugin } from "#core";
import { type BackendFactory, Backends } from "#plugins/backends";
import { options } from "#plugins/options";
import type { KiroOptions } from "./backend.ts";
import { sourceOf, tokenNames } from "./settings.ts";

/** The rest is loaded with the first agent. */
export function kiroBackend(options: KiroOptions = {}): BackendFactory {
  let backends: Promise<ReturnType<typeof import("./backend.ts").kiroBackends>> | undefined;
  return {
    name: "kiro",
    aliases: ["codewhisperer"],
    credentials: tokenNames,
    defaultModel: undefined,
    async available() {
      const source = sourceOf(options.env ?? process.env);
      return "missing" in source
        ? { ok: false, why: source.missing }
        : { ok: true, why: `a login is in ${source.from}` };
    },
    async create({ model = "" }) {
      backends ??= import("./backend.ts").then(({ kiroBackends }) => kiroBackends(options));
      return (await backends)(model);
    },
  };
}

export default definePlugin({
  name: "backend-kiro",
  doc: "Backend `kiro` (or `codewhisperer`): Amazon's service, with the login of kiro-cli or OLLIE_KIRO_TOKEN.",
  config: options(
    z.strictObject({
      /** Base URL of the service; OLLIE_KIRO_URL wins. Default: that of the account's region. */
      url: z.optional(z.string()),
      /** Milliseconds without a byte that mean that the server is gone. Default 120,000. */
      idle: z.optional(z.int().check(z.positive())),
    }),
  ),
  needs: [Backends],
  caps: ["net", "exec"],
  setup({ config, use, defer }) {
    defer(use(Backends).register(kiroBackend(config)));
  },
});
