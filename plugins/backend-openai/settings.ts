/** Where to send and with which key: read anew for each request, since {cfg}/env may have changed. */
import { BackendError } from "#plugins/backends";

/** A provider of this protocol that has a name of its own. */
export interface Dialect {
  name: "openai" | "openrouter";
  /** The provider's own endpoint, with `/v1`. */
  url: string;
  /** Names of environment variables that hold a key, best first. */
  keys: readonly string[];
  /** Names of variables that hold a base URL: ours may lack `/v1`. */
  urls: readonly string[];
}

export const openai: Dialect = {
  name: "openai",
  url: "https://api.openai.com/v1",
  keys: ["OLLIE_OPENAI_KEY", "OPENAI_API_KEY"],
  urls: ["OLLIE_OPENAI_URL", "OPENAI_BASE_URL"],
};

export const openrouter: Dialect = {
  name: "openrouter",
  url: "https://openrouter.ai/api/v1",
  keys: ["OLLIE_OPENROUTER_KEY", "OPENROUTER_API_KEY"],
  urls: ["OLLIE_OPENROUTER_URL"],
};

export interface Settings {
  /** With `/v1` and no slash at the end. */
  baseURL: string;
  /** Empty: no Authorization header. */
  key: string;
  /** OpenAI's own endpoint, not a compatible server. */
  official: boolean;
  /** OpenRouter, or a server that stands for it. */
  router: boolean;
  /** For `backends`: where the two came from. */
  why: string;
}

/** `url`: from the user's config, below the environment. */
export function settings(env: NodeJS.ProcessEnv, url?: string, of: Dialect = openai): Settings | { missing: string } {
  const shared = of.name === "openrouter" ? sharedWithOpenai(env) : undefined;
  const keyName = of.keys.find((name) => env[name]?.trim()) ?? shared?.key;
  const urlName = of.urls.find((name) => env[name]?.trim()) ?? shared?.url;
  const base = (urlName && env[urlName]) || url;
  if (!keyName && !base) {
    const orUrl = of.name === "openai" ? ", nor OLLIE_OPENAI_URL" : "";
    return { missing: `${of.keys.join(" or ")} is not set${orUrl}` };
  }
  const baseURL = base ? (urlName === "OPENAI_BASE_URL" ? bare(base) : withVersion(base)) : of.url;
  const where = base ? `${urlName ?? "url of the config"}${keyName ? "" : " (no key)"}` : "";
  const why = [keyName, where].filter((part) => part).join(" and ");
  return {
    baseURL,
    key: (keyName && env[keyName]?.trim()) || "",
    official: baseURL === openai.url,
    router: of.name === "openrouter" || /openrouter/i.test(baseURL),
    why: `${why} ${keyName && where ? "are" : "is"} set`,
  };
}

/** OLLIE_OPENAI_* are OpenRouter's where the URL is: a key of somebody else must not get there. */
function sharedWithOpenai(env: NodeJS.ProcessEnv): { key: string | undefined; url: string } | undefined {
  if (!/openrouter/i.test(env.OLLIE_OPENAI_URL ?? "")) return undefined;
  return { key: env.OLLIE_OPENAI_KEY?.trim() ? "OLLIE_OPENAI_KEY" : undefined, url: "OLLIE_OPENAI_URL" };
}

/** Settings that a request can use. Throws BackendError `auth` or `badRequest`, naming the variable but not its value. */
export function usable(env: NodeJS.ProcessEnv, url?: string, of: Dialect = openai): Settings {
  const found = settings(env, url, of);
  if ("missing" in found) throw new BackendError("auth", `${of.name}: ${found.missing}`);
  if (!URL.canParse(found.baseURL) || !/^https?:/.test(found.baseURL))
    throw new BackendError("badRequest", `${of.name}: ${of.urls[0]} is not an http or https URL`);
  // A header with a control character is refused by an error that shows the header.
  if (/[^\x21-\x7e]/.test(found.key))
    throw new BackendError("auth", `${of.name}: the key holds a character that no key has (${of.keys.join(", ")})`);
  return found;
}

const bare = (url: string) => url.trim().replace(/\/+$/, "");

/** `http://host`, `http://host/`, `http://host/v1`, `http://host/v1/` are one; another version in the path stands too. */
function withVersion(url: string): string {
  const base = bare(url);
  return /\/v\d+[a-z]*\d*(\/|$)/.test(base) ? base : `${base}/v1`;
}
