/** The `openai` package, behind one file: addresses, headers and bodies. It never retries, and reading is not its task. */
import type { ChatCompletionCreateParamsStreaming } from "openai/resources/chat/completions";
import type { ProviderFetch } from "#plugins/backends";
import type { Settings } from "./settings.ts";

export type Fetch = ProviderFetch;

/** Milliseconds: the longest that a timer takes. Our own limits are shorter. */
const never = 2 ** 31 - 1;

/**
 * Sends a request and gives the raw response, whatever its status. `signal` governs the body too. Throws what `fetch`
 * throws. The package's own reading of a stream is not used: it hides whether an end mark came, and the code of an error
 * in the stream.
 */
async function send(
  { baseURL, key, official }: Settings,
  fetch: Fetch,
  signal: AbortSignal,
  call: (client: InstanceType<typeof import("openai").OpenAI>) => { asResponse(): Promise<Response> },
): Promise<Response> {
  const { OpenAI } = await import("openai");
  const outcome: { response?: Response; error?: unknown } = {};
  const client = new OpenAI({
    baseURL,
    apiKey: key || "none",
    adminAPIKey: null,
    // The account's names are not for a foreign server.
    ...(official ? {} : { organization: null, project: null }),
    ...(key ? {} : { defaultHeaders: { Authorization: null } }),
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
      // A bad status would be read, to the end, and lose words that the package does not know: it gets a blank instead.
      return outcome.response.ok ? outcome.response : new Response(null, { status: 200 });
    },
  });
  try {
    await call(client).asResponse();
  } catch (error) {
    throw outcome.error ?? error;
  }
  if (!outcome.response) throw new Error("openai: the package sent no request");
  return outcome.response;
}

/** POST /v1/chat/completions. */
export const postChat = (
  settings: Settings,
  body: ChatCompletionCreateParamsStreaming,
  fetch: Fetch,
  signal: AbortSignal,
): Promise<Response> => send(settings, fetch, signal, (client) => client.chat.completions.create(body));

/** GET /v1/models. */
export const getModels = (settings: Settings, fetch: Fetch, signal: AbortSignal): Promise<Response> =>
  send(settings, fetch, signal, (client) => client.models.list());
