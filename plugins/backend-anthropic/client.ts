/** The `@anthropic-ai/sdk` package, behind one file: addresses and headers. It never retries, and reading is not its task. */
import { behind, type ProviderFetch } from "#plugins/backends";
import type { Settings } from "./settings.ts";

type Client = InstanceType<typeof import("@anthropic-ai/sdk").Anthropic>;

/** Milliseconds: the longest that a timer takes. Our own limits are shorter. */
const never = 2 ** 31 - 1;

/** The version of the protocol whose parameters are sent: later ones refuse temperature for all models. */
const version = "2023-06-01";

async function send(
  { baseURL, key, bearer }: Settings,
  fetch: ProviderFetch,
  signal: AbortSignal,
  call: (client: Client) => { asResponse(): Promise<Response> },
): Promise<Response> {
  const { Anthropic } = await import("@anthropic-ai/sdk");
  return behind("anthropic", fetch, signal, (through) =>
    call(
      new Anthropic({
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
        fetch: through,
      }),
    ).asResponse(),
  );
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
