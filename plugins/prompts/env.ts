/** The environment of prompt commands: the server's without its secrets, the session's, and the facts of templates. */
import { join } from "node:path";
import { packageRoot, searchPath } from "#core";
import { isCredential } from "#plugins/sessions";
import type { PromptAt } from "./types.ts";

export function promptEnv(at: Pick<PromptAt, "cwd" | "env" | "prime">, server = process.env): Record<string, string> {
  const all = { ...server, ...at.env };
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(all)) if (value !== undefined && !isCredential(name)) env[name] = value;
  return {
    ...env,
    ...at.prime,
    PWD: at.cwd,
    // the service name, for ollie-9p: there is no mount unless somebody made one and says so
    OLLIE: env.OLLIE || "ollie",
    OLLIE_PROMPTS_PATH: searchPath("prompts", all).join(":"),
    PATH: `${join(packageRoot(), "data", "scripts")}:${env.PATH ?? "/usr/local/bin:/usr/bin:/bin"}`,
  };
}
