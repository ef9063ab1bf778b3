/** The `ollama` package, behind one file: addresses, headers and bodies. Reading is not its task. */
import type { ChatRequest } from "ollama";
import { behind, type ProviderFetch } from "#plugins/backends";
import type { Settings } from "./settings.ts";

type Client = InstanceType<typeof import("ollama").Ollama>;

async function send(
  { url, key }: Settings,
  fetch: ProviderFetch,
  signal: AbortSignal,
  call: (client: Client) => Promise<unknown>,
): Promise<Response> {
  const { Ollama } = await import("ollama");
  return behind("ollama", fetch, signal, (through) =>
    call(new Ollama({ host: url, ...(key ? { headers: { Authorization: `Bearer ${key}` } } : {}), fetch: through })),
  );
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
