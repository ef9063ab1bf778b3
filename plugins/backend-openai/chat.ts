/** One Chat Completions request, streamed: from the response's bytes to stream events. */
import type { ChatCompletionCreateParamsStreaming } from "openai/resources/chat/completions";
import {
  bodyText,
  type Failures,
  jsonOf,
  replyEvents,
  type ServerEvent,
  type StreamEvent,
  sseBatches,
} from "#plugins/backends";
import { type Fetch, postChat } from "./client.ts";
import { reply } from "./reply.ts";
import type { Settings } from "./settings.ts";

export interface ChatOptions {
  settings: Settings;
  fetch: Fetch;
  fail: Failures;
  signal: AbortSignal;
}

/** Throws BackendError, or the signal's reason. Leaving the loop lets go of the connection. */
export async function* chat(
  body: ChatCompletionCreateParamsStreaming,
  { settings, fetch, fail, signal }: ChatOptions,
): AsyncGenerator<StreamEvent> {
  signal.throwIfAborted();
  const answer = reply(fail, settings.router ? body.model : undefined);
  const reader = {
    over: false,
    take(event: ServerEvent) {
      const ended = event.data.trim() === "[DONE]";
      reader.over = ended || event.event === "document";
      return ended ? [] : answer.take(chunkOf(event, fail));
    },
  };
  try {
    const response = await postChat(settings, body, fetch, signal);
    if (!response.ok) throw fail.status(response.status, response.headers, (await bodyText(response, 64 * 1024)).text);
    yield* replyEvents(sseBatches(response, fail), reader);
    yield* answer.end(reader.over, () => JSON.stringify(body).length);
  } catch (error) {
    signal.throwIfAborted();
    throw fail.thrown(error, new URL(settings.baseURL).origin);
  }
}

/** The chunk in an event. Throws BackendError for an `error` event, and for what is no chunk. */
function chunkOf(event: ServerEvent, fail: Failures): unknown {
  if (event.event === "document") return documentOf(event.data, fail);
  const chunk = jsonOf(event, fail) as { error?: unknown } | null;
  if (event.event === "error") throw fail.inBand(chunk?.error ?? chunk);
  return chunk;
}

/** The whole reply, or error, of a server that did not stream. */
function documentOf(text: string, fail: Failures): unknown {
  try {
    const value = JSON.parse(text) as { error?: unknown; choices?: unknown };
    if (value.error || Array.isArray(value.choices)) return value;
  } catch {
    // said below
  }
  throw fail.noReply(text);
}
