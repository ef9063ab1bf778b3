/** The raw response of a provider, taken from behind the provider's own package. */
import type { ProviderFetch } from "./http.ts";

/**
 * What the one request is answered that `call` makes by the fetch it is given, whatever the status. `signal` governs the
 * body too. Throws what `fetch` throws. The package gets a blank: it would read a bad status to its end and lose words that it
 * does not know, and it knows no other servers than the provider's.
 */
export async function behind(
  name: string,
  fetch: ProviderFetch,
  signal: AbortSignal,
  call: (fetch: typeof globalThis.fetch) => PromiseLike<unknown>,
): Promise<Response> {
  let answer: Response | undefined;
  let failed: { error: unknown } | undefined;
  try {
    await call(async (to, init) => {
      try {
        answer = await fetch(to as string, { ...init, signal });
      } catch (error) {
        failed = { error };
        throw error;
      }
      return new Response();
    });
  } catch (error) {
    // The package wraps it.
    if (failed) throw failed.error;
    if (!answer) throw error;
  }
  if (!answer) throw new Error(`${name}: the package sent no request`);
  return answer;
}
