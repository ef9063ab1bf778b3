/** Where to send and with which key: read anew for each request, since {cfg}/env may have changed. */
import { BackendError } from "#plugins/backends";

export interface Settings {
  /** With the version and no slash at the end. */
  baseURL: string;
  key: string;
  /** Name of the variable that the key is from. */
  from: string;
}

/** Names of environment variables that hold a key, best first. */
export const keyNames = ["OLLIE_GEMINI_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"] as const;

const official = "https://generativelanguage.googleapis.com";

/** `url`: from the user's config, below OLLIE_GEMINI_URL. */
export function settings(env: NodeJS.ProcessEnv, url?: string): Settings | { missing: string } {
  const from = keyNames.find((name) => env[name]?.trim());
  if (!from) return { missing: `${keyNames.join(" or ")} is not set` };
  const base = (env.OLLIE_GEMINI_URL?.trim() || url || official).replace(/\/+$/, "");
  const baseURL = /\/v\d\w*$/.test(base) ? base : `${base}/v1beta`;
  return { baseURL, key: env[from]?.trim() ?? "", from };
}

/** Throws BackendError `auth` or `badRequest`, naming the variable but not its value. */
export function usable(env: NodeJS.ProcessEnv, url?: string): Settings {
  const found = settings(env, url);
  if ("missing" in found) throw new BackendError("auth", `gemini: ${found.missing}`);
  if (!URL.canParse(found.baseURL) || !/^https?:/.test(found.baseURL))
    throw new BackendError("badRequest", "gemini: OLLIE_GEMINI_URL is not an http or https URL");
  if (/[^\x21-\x7e]/.test(found.key))
    throw new BackendError("auth", `gemini: ${found.from} holds a character that no key has`);
  return found;
}
