/** The `ollama` package, behind one file: addresses, headers and bodies. Reading is not its task. */
import type { ChatRequest } from "ollama";
import type { ProviderFetch } from "#plugins/backends";
import type { Settings } from "./settings.ts";

type Client = InstanceType<typeof import("ollama").Ollama>;

/**
 * Sends a request and gives the raw answer, whatever its status. `signal` governs the body too. Throws what `fetch`
 * throws. The package's own reading is not used: it skips lines that it can not parse, prints to the console when a status
 * is bad, and drops the headers.
 */
async function send(
  { url, key }: Settings,
  fetch: ProviderFetch,
  signal: AbortSignal,
  call: (client: Client) => Promise<unknown>,
): Promise<Response> {
  const { Ollama } = await import("ollama");
  const outcome: { answer?: Response; error?: unknown } = {};
  const client = new Ollama({
    host: url,
    ...(key ? { headers: { Authorization: `Bearer ${key}` } } : {}),
    fetch: (async (to: string, init: RequestInit) => {
      try {
        outcome.answer = await fetch(to, { ...init, signal });
      } catch (error) {
        outcome.error = error;
        throw error;
      }
      return new Response("{}", { status: 200 });
    }) as typeof globalThis.fetch,
  });
  try {
    await call(client);
  } catch (error) {
    if (!outcome.answer) throw outcome.error ?? error;
  }
  if (!outcome.answer) throw new Error("the package ollama sent no request");
  return outcome.answer;
}

type Ask<A extends unknown[]> = (
  settings: Settings,
  fetch: ProviderFetch,
  signal: AbortSignal,
  ...more: A
) => Promise<Response>;

/** POST /api/chat, streamed. */
export const postChat: Ask<[body: ChatRequest]> = (settings, fetch, signal, body) =>
  send(settings, fetch, signal, (client) => client.chat({ ...body, stream: true }));

/** POST /api/show: what a model is. */
export const postShow: Ask<[model: string]> = (settings, fetch, signal, model) =>
  send(settings, fetch, signal, (client) => client.show({ model }));

/** GET /api/ps: what is loaded, with which window. */
export const getLoaded: Ask<[]> = (settings, fetch, signal) => send(settings, fetch, signal, (client) => client.ps());

/** GET /api/tags: what is there. */
export const getModels: Ask<[]> = (settings, fetch, signal) => send(settings, fetch, signal, (client) => client.list());
