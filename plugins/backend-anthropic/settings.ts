/** Where to send and with which key: read anew for each request, since {cfg}/env may have changed. */
import { BackendError } from "#plugins/backends";

export interface Settings {
  /** Without `/v1` and without a slash at the end. */
  baseURL: string;
  /** Empty where a server needs none. */
  key: string;
  /** A token of another kind than a key: sent as a bearer. */
  bearer: boolean;
  /** Anthropic's own endpoint, not a compatible server. */
  official: boolean;
  /** For `backends`: where the two came from. */
  why: string;
}

const official = "https://api.anthropic.com";

/** Names of environment variables that hold a key, best first; the last one holds a bearer token. */
export const keyNames = ["OLLIE_ANTHROPIC_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"] as const;
const urlNames = ["OLLIE_ANTHROPIC_URL", "ANTHROPIC_BASE_URL"] as const;

/** `url`: from the user's config, below the environment. */
export function settings(env: NodeJS.ProcessEnv, url?: string): Settings | { missing: string } {
  const keyName = keyNames.find((name) => env[name]?.trim());
  const urlName = urlNames.find((name) => env[name]?.trim());
  const base = (urlName && env[urlName]) || url;
  if (!keyName && !base) return { missing: `${keyNames.slice(0, 2).join(" or ")} is not set` };
  const baseURL = (base ?? official).trim().replace(/\/+$/, "").replace(/\/v1$/, "");
  const where = base ? `${urlName ?? "url of the config"}${keyName ? "" : " (no key)"}` : "";
  return {
    baseURL,
    key: (keyName && env[keyName]?.trim()) || "",
    bearer: keyName === "ANTHROPIC_AUTH_TOKEN",
    official: baseURL === official,
    why: `${[keyName, where].filter((part) => part).join(" and ")} ${keyName && where ? "are" : "is"} set`,
  };
}

/** Settings that a request can use. Throws BackendError `auth` or `badRequest`, naming the variable but not its value. */
export function usable(env: NodeJS.ProcessEnv, url?: string): Settings {
  const found = settings(env, url);
  if ("missing" in found) throw new BackendError("auth", `anthropic: ${found.missing}`);
  if (!URL.canParse(found.baseURL) || !/^https?:/.test(found.baseURL))
    throw new BackendError("badRequest", "anthropic: OLLIE_ANTHROPIC_URL is not an http or https URL");
  // A header with a control character is refused by an error that shows the header.
  if (/[^\x21-\x7e]/.test(found.key))
    throw new BackendError("auth", `anthropic: the key holds a character that no key has (${keyNames.join(", ")})`);
  return found;
}
