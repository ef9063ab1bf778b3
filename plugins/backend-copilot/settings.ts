/** Whose account, and where: read anew for each request, since a login may have come. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { configDir } from "#core";
import { BackendError } from "#plugins/backends";

export interface Settings {
  /** GitHub's token of the account, or a token of Copilot itself. */
  token: string;
  /** The variable or the file that it is from. */
  from: string;
  /** Where the account's token is exchanged: GitHub's API. */
  github: string;
  /** Overrides where Copilot is; undefined: as the exchange says. */
  url: string | undefined;
}

/** Names of environment variables that hold a token, best first. */
export const tokenNames = ["OLLIE_COPILOT_TOKEN", "COPILOT_GITHUB_TOKEN"] as const;

export function settings(env: NodeJS.ProcessEnv): Settings | { missing: string } {
  const file = join(configDir(env), "copilot.json");
  const from = tokenNames.find((name) => env[name]?.trim());
  const saved = from ? undefined : readLogin(file);
  const token = (from ? env[from]?.trim() : saved?.token) ?? "";
  if (token === "") return { missing: `no login (run ollie-login copilot) and ${tokenNames[0]} is not set` };
  return {
    token,
    from: from ?? file,
    github: bare(env.OLLIE_COPILOT_GITHUB_URL || saved?.github || "https://api.github.com"),
    url: env.OLLIE_COPILOT_URL ? bare(env.OLLIE_COPILOT_URL) : undefined,
  };
}

/** Throws BackendError `auth` or `badRequest`. */
export function usable(env: NodeJS.ProcessEnv): Settings {
  const found = settings(env);
  if ("missing" in found) throw new BackendError("auth", `copilot: ${found.missing}`);
  for (const url of [found.github, found.url ?? found.github])
    if (!URL.canParse(url) || !/^https?:/.test(url))
      throw new BackendError("badRequest", `copilot: ${url.slice(0, 80)} is not an http or https URL`);
  if (/[^\x21-\x7e]/.test(found.token))
    throw new BackendError("auth", `copilot: the token of ${found.from} holds a character that no token has`);
  return found;
}

/** What ollie-login wrote. */
function readLogin(file: string): { token: string; github?: string } | undefined {
  try {
    const { token, github } = JSON.parse(readFileSync(file, "utf8")) as { token?: unknown; github?: unknown };
    if (typeof token !== "string") return undefined;
    return { token: token.trim(), ...(typeof github === "string" ? { github } : {}) };
  } catch {
    return undefined;
  }
}

const bare = (url: string) => url.trim().replace(/\/+$/, "");
