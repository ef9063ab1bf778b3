/** The `openai` package, behind one file: addresses, headers and bodies. It never retries, and reading is not its task. */
import type { ChatCompletionCreateParamsStreaming } from "openai/resources/chat/completions";
import { behind, type ProviderFetch } from "#plugins/backends";
import type { Settings } from "./settings.ts";

export type Fetch = ProviderFetch;

/** Milliseconds: the longest that a timer takes. Our own limits are shorter. */
const never = 2 ** 31 - 1;

async function send(
  { baseURL, key, official }: Settings,
  fetch: Fetch,
  signal: AbortSignal,
  call: (client: InstanceType<typeof import("openai").OpenAI>) => { asResponse(): Promise<Response> },
): Promise<Response> {
  const { OpenAI } = await import("openai");
  return behind("openai", fetch, signal, (through) =>
    call(
      new OpenAI({
        baseURL,
        apiKey: key || "none",
        adminAPIKey: null,
        // The account's names are not for a foreign server.
        ...(official ? {} : { organization: null, project: null }),
        ...(key ? {} : { defaultHeaders: { Authorization: null } }),
        maxRetries: 0,
        timeout: never,
        logLevel: "off",
        fetch: through,
      }),
    ).asResponse(),
  );
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
