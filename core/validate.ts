/** Options of a plugin against its schema, through Standard Schema. */

import { resolveReferences } from "./config/define.ts";
import type { SchemaIssue, SchemaResult } from "./config/schema.ts";
import { messageOf, OllieError } from "./errors.ts";
import type { Use } from "./plugin.ts";

/** The validated options. Throws OllieError E_CONFIG naming plugin and key. */
export async function validate(use: Use): Promise<unknown> {
  const { name, config } = use.def;
  if (!config) {
    if (use.options !== undefined && Object.keys(use.options as object).length > 0)
      throw new OllieError("E_CONFIG", `${name}: takes no options`);
    return {};
  }
  const options = resolveReferences(use.options ?? {}, name);
  let result: SchemaResult<unknown>;
  try {
    result = await config["~standard"].validate(options);
  } catch (error) {
    throw new OllieError("E_CONFIG", `${name}: its schema failed: ${messageOf(error)}`, { cause: error });
  }
  if (!result.issues) return result.value;
  throw new OllieError(
    "E_CONFIG",
    result.issues.map((issue) => `${name}${pathOf(issue)}: ${issue.message}`).join("\n"),
  );
}

function pathOf(issue: SchemaIssue): string {
  const keys = (issue.path ?? []).map((part) => String(typeof part === "object" ? part.key : part));
  return keys.length > 0 ? `.${keys.join(".")}` : "";
}
