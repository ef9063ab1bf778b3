/** Where to send and with which key: read anew for each request, since {cfg}/env may have changed. */
import { BackendError } from "#plugins/backends";

export interface Settings {
  /** With `/v1` and no slash at the end. */
  baseURL: string;
  /** Empty: no Authorization header. */
  key: string;
  /** The provider's own endpoint, not a compatible server. */
  official: boolean;
  /** For `backends`: where the two came from. */
  why: string;
}

const official = "https://api.openai.com/v1";

/** Names of environment variables that hold a key, best first. */
export const keyNames = ["OLLIE_OPENAI_KEY", "OPENAI_API_KEY"] as const;
/** Base URLs: ours without `/v1`, the ecosystem's with all but the last part of the path. */
const urlNames = ["OLLIE_OPENAI_URL", "OPENAI_BASE_URL"] as const;

/** `url`: from the user's config, below the environment. */
export function settings(env: NodeJS.ProcessEnv, url?: string): Settings | { missing: string } {
  const keyName = keyNames.find((name) => env[name]?.trim());
  const urlName = urlNames.find((name) => env[name]?.trim());
  const base = (urlName && env[urlName]) || url;
  if (!keyName && !base) return { missing: `${keyNames.join(" or ")} is not set, nor OLLIE_OPENAI_URL` };
  const baseURL = base ? (urlName === "OPENAI_BASE_URL" ? bare(base) : withVersion(base)) : official;
  const where = base ? `${urlName ?? "url of the config"}${keyName ? "" : " (no key)"}` : "";
  const why = [keyName, where].filter((part) => part).join(" and ");
  return {
    baseURL,
    key: (keyName && env[keyName]?.trim()) || "",
    official: baseURL === official,
    why: `${why} ${keyName && where ? "are" : "is"} set`,
  };
}

/** Settings that a request can use. Throws BackendError `auth` or `badRequest`, naming the variable but not its value. */
export function usable(env: NodeJS.ProcessEnv, url?: string): Settings {
  const found = settings(env, url);
  if ("missing" in found) throw new BackendError("auth", `openai: ${found.missing}`);
  if (!URL.canParse(found.baseURL) || !/^https?:/.test(found.baseURL))
    throw new BackendError("badRequest", "openai: OLLIE_OPENAI_URL is not an http or https URL");
  // A header with a control character is refused by an error that shows the header.
  if (/[^\x21-\x7e]/.test(found.key))
    throw new BackendError("auth", `openai: the key holds a character that no key has (${keyNames.join(", ")})`);
  return found;
}

const bare = (url: string) => url.trim().replace(/\/+$/, "");

/** `http://host`, `http://host/`, `http://host/v1`, `http://host/v1/` are one; another version in the path stands too. */
function withVersion(url: string): string {
  const base = bare(url);
  return /\/v\d+[a-z]*\d*(\/|$)/.test(base) ? base : `${base}/v1`;
}
