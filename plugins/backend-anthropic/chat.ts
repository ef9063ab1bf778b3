/** One Messages request, streamed: from the response's bytes to stream events. */
import {
  bodyText,
  type Failures,
  jsonOf,
  type ProviderFetch,
  replyEvents,
  type ServerEvent,
  type StreamEvent,
  sseBatches,
} from "#plugins/backends";
import { postMessages } from "./client.ts";
import { reply } from "./reply.ts";
import type { Request } from "./request.ts";
import type { Settings } from "./settings.ts";

export interface ChatOptions {
  settings: Settings;
  fetch: ProviderFetch;
  fail: Failures;
  signal: AbortSignal;
}

/** Throws BackendError, or the signal's reason. Leaving the loop lets go of the connection. */
export async function* chat(
  { body, betas }: Request,
  { settings, fetch, fail, signal }: ChatOptions,
): AsyncGenerator<StreamEvent> {
  signal.throwIfAborted();
  const answer = reply(fail);
  try {
    const response = await postMessages(settings, body, betas, fetch, signal);
    if (!response.ok) throw fail.status(response.status, response.headers, (await bodyText(response, 64 * 1024)).text);
    yield* replyEvents(sseBatches(response, fail), {
      take: (event) => answer.take(wireOf(event, fail)),
      get over() {
        return answer.over;
      },
    });
    yield* answer.end(JSON.stringify(body).length);
  } catch (error) {
    signal.throwIfAborted();
    throw fail.thrown(error, new URL(settings.baseURL).origin);
  }
}

/** The wire event in a server-sent one. Throws BackendError for an `error` event, and for what is none. */
function wireOf(event: ServerEvent, fail: Failures): unknown {
  if (event.event === "document") return documentOf(event.data, fail);
  const value = jsonOf(event, fail) as { error?: unknown; type?: unknown } | null;
  if (event.event === "error") throw fail.inBand(value?.error ?? value);
  return value;
}

/** The whole reply, or error, of a server that did not stream. */
function documentOf(text: string, fail: Failures): unknown {
  try {
    const value = JSON.parse(text) as { type?: unknown; error?: unknown };
    if (value.error) return { type: "error", error: value.error };
    if (value.type === "message") return value;
  } catch {
    // said below
  }
  throw fail.noReply(text);
}
