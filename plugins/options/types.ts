/**
 * How stock plugins check their options: a schema of zod/mini, of which a build keeps only what is used. Zod itself would
 * be a quarter of the daemon's start; a plugin of a user may have it all the same, core takes any Standard Schema.
 */
import type { core, ZodMiniType } from "zod/mini";
import * as z from "zod/mini";
import type { StandardSchemaV1 } from "#core";

/**
 * A plugin's `config`: the schema of its options, usually a `z.strictObject`. Options that are left out are `{}`. Faults
 * are told in English, whose words are loaded when there is one.
 */
export function options<S extends ZodMiniType>(schema: S): StandardSchemaV1<core.input<S> | undefined, core.output<S>> {
  return {
    "~standard": {
      version: 1,
      vendor: "zod",
      async validate(value = {}) {
        // Each schema is used once: compiling a function for it would cost more than it saves.
        const { success, data } = z.safeParse(schema, value, { jitless: true });
        if (success) return { value: data };
        const { default: english } = await import("zod/v4/locales/en.js");
        const { error } = z.safeParse(schema, value, { jitless: true, error: english().localeError });
        return { issues: error?.issues ?? [] };
      },
    },
  };
}
