/** What others may import of plugin backend-openai: its wire, for providers that speak it at an address of their own. */
import type { Failures, Message, Params, ProviderFetch, StreamEvent, ToolSchema } from "#plugins/backends";

export interface ChatCompletions {
  /** `/chat/completions` is added. */
  baseURL: string;
  /** Adds what the provider wants in its headers; none with a key is made here. */
  fetch: ProviderFetch;
  fail: Failures;
  model: string;
  messages: readonly Message[];
  tools: readonly ToolSchema[];
  params: Params;
  signal: AbortSignal;
}

/** Streams one reply. Throws as `Backend.chatStream` does. The code behind it is loaded with the first request. */
export async function* chatCompletions(request: ChatCompletions): AsyncGenerator<StreamEvent> {
  const { baseURL, fetch, fail, model, messages, tools, params, signal } = request;
  const [{ chat }, { bodyOf }] = await Promise.all([import("./chat.ts"), import("./request.ts")]);
  const settings = { baseURL, key: "", official: false, router: false, why: "" };
  yield* chat(bodyOf(model, messages, tools, params, settings), { settings, fetch, fail, signal });
}
