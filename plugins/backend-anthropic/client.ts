/** The `@anthropic-ai/sdk` package, behind one file: addresses and headers. It never retries, and reading is not its task. */
import type { ProviderFetch } from "#plugins/backends";
import type { Settings } from "./settings.ts";

type Client = InstanceType<typeof import("@anthropic-ai/sdk").Anthropic>;

/** Milliseconds: the longest that a timer takes. Our own limits are shorter. */
const never = 2 ** 31 - 1;

/** The version of the protocol whose parameters are sent: later ones refuse temperature for all models. */
const version = "2023-06-01";

/**
 * Sends a request and gives the raw response, whatever its status. `signal` governs the body too. Throws what `fetch`
 * throws. The package's own reading of a stream is not used: it knows no other servers than the provider's.
 */
async function send(
  { baseURL, key, bearer }: Settings,
  fetch: ProviderFetch,
  signal: AbortSignal,
  call: (client: Client) => { asResponse(): Promise<Response> },
): Promise<Response> {
  const { Anthropic } = await import("@anthropic-ai/sdk");
  const outcome: { response?: Response; error?: unknown } = {};
  const client = new Anthropic({
    baseURL,
    // Given in code, so that no profile or variable of the package's own is read for another one.
    apiKey: key || "none",
    defaultHeaders: {
      Authorization: bearer ? `Bearer ${key}` : null,
      "X-Api-Key": bearer || key === "" ? null : key,
      "Anthropic-Version": version,
    },
    maxRetries: 0,
    timeout: never,
    logLevel: "off",
    fetch: async (url, init) => {
      try {
        outcome.response = await fetch(url as string, { ...(init as RequestInit), signal });
      } catch (error) {
        outcome.error = error;
        throw error;
      }
      // The package would read a bad status to its end, and end a request whose response nobody holds: it gets a blank.
      return new Response(null, { status: 200 });
    },
  });
  try {
    await call(client).asResponse();
  } catch (error) {
    throw outcome.error ?? error;
  }
  if (!outcome.response) throw new Error("anthropic: the package sent no request");
  return outcome.response;
}

/** POST /v1/messages. Not by the package's own method for it, which prints advice on models to the terminal. */
export const postMessages = (
  settings: Settings,
  body: object,
  betas: readonly string[],
  fetch: ProviderFetch,
  signal: AbortSignal,
): Promise<Response> =>
  send(settings, fetch, signal, (client) =>
    client.post("/v1/messages", {
      body,
      stream: true,
      headers: betas.length > 0 ? { "Anthropic-Beta": betas.join(",") } : {},
    }),
  );

/** GET /v1/models: one page holds all. */
export const getModels = (settings: Settings, fetch: ProviderFetch, signal: AbortSignal): Promise<Response> =>
  send(settings, fetch, signal, (client) => client.models.list({ limit: 1000 }));
