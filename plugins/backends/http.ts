/**
 * The HTTP client under all backends, in the shape of `fetch`, which the providers' packages take. Node's own modules for
 * it are loaded with the first request: a daemon that waits needs none.
 */
export { bodyBytes } from "./http-response.ts";

export interface HttpOptions {
  /** Milliseconds without a byte, before the first one and while a reader waits, that mean that the server is gone. Default 120,000. */
  idle?: number | undefined;
  /** Where HTTPS_PROXY, HTTP_PROXY and NO_PROXY stand, read at each request. Default: the process's. */
  env?: NodeJS.ProcessEnv | undefined;
}

/** What packages call `fetch`, as far as they use it. */
export type ProviderFetch = (url: string | URL | Request, init?: RequestInit) => Promise<Response>;

/**
 * A `fetch` with connections of its own. The body of a request is text or bytes; redirects are not followed (the key
 * would go with them). Rejects with the signal's reason, with BackendError `transient` for silence, else with the
 * system's error (`code`).
 */
export function providerFetch(options: HttpOptions = {}): ProviderFetch {
  let made: Promise<ProviderFetch> | undefined;
  return async (...request) => {
    made ??= load(options);
    return (await made)(...request);
  };
}

/** Of undici one file: its index loads its own fetch, web sockets and caches, too, three quarters of the time. */
async function load(options: HttpOptions): Promise<ProviderFetch> {
  const [{ client }, { default: Client }] = await Promise.all([
    import("./http-client.ts"),
    import("undici/lib/dispatcher/client.js"),
  ]);
  return client(options, Client);
}
