/** Where Ollama is: read anew for each request, since {cfg}/env may have changed. */
import { BackendError } from "#plugins/backends";

export interface Settings {
  /** No slash at the end. */
  url: string;
  /** Empty: no Authorization header. */
  key: string;
  /** The variable, or `url of the config`; undefined: nobody said so. */
  from: string | undefined;
}

/** Names of environment variables that hold a key, best first. A local server needs none. */
export const keyNames = ["OLLIE_OLLAMA_KEY", "OLLAMA_API_KEY"] as const;

const local = "http://127.0.0.1:11434";

/** `url`: from the user's config, below OLLIE_OLLAMA_URL and above OLLAMA_HOST. Throws BackendError for what is no URL. */
export function settings(env: NodeJS.ProcessEnv, url?: string): Settings {
  const ours = env.OLLIE_OLLAMA_URL?.trim();
  const theirs = env.OLLAMA_HOST?.trim();
  const given = ours || url || (theirs && hostURL(theirs)) || local;
  const from = ours ? "OLLIE_OLLAMA_URL" : url ? "url of the config" : undefined;
  if (!URL.canParse(given) || !/^https?:/.test(given))
    throw new BackendError("badRequest", `ollama: ${from ?? "OLLAMA_HOST"} is not an http or https URL`);
  // The ecosystem's key is for the hosted service alone.
  const hosted = new URL(given).hostname === "ollama.com";
  const key = env.OLLIE_OLLAMA_KEY?.trim() || (hosted && env.OLLAMA_API_KEY?.trim()) || "";
  if (/[^\x21-\x7e]/.test(key)) throw new BackendError("auth", "ollama: the key holds a character that no key has");
  return { url: given.replace(/\/+$/, ""), key, from };
}

/** OLLAMA_HOST is where a server listens, too: `0.0.0.0`, `:8080`, `host`. */
function hostURL(host: string): string {
  const full = /^https?:\/\//.test(host) ? host : `http://${host.startsWith(":") ? `127.0.0.1${host}` : host}`;
  if (!URL.canParse(full)) return host;
  const url = new URL(full);
  if (url.hostname === "0.0.0.0" || url.hostname === "[::]") url.hostname = "127.0.0.1";
  if (url.port === "" && !/:\d+\/?$/.test(full) && url.protocol === "http:") url.port = "11434";
  return url.href;
}
