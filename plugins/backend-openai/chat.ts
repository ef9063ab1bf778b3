/** One Chat Completions request, streamed: from the response's bytes to stream events. */
import type { ChatCompletionCreateParamsStreaming } from "openai/resources/chat/completions";
import { messageOf } from "#core";
import { BackendError, type ServerEvent, type StreamEvent, sseParser } from "#plugins/backends";
import { type Fetch, postChat } from "./client.ts";
import { type Connection, connection } from "./connection.ts";
import { hide, inBandError, networkError, notAStream, statusError } from "./errors.ts";
import { reply } from "./reply.ts";
import type { Settings } from "./settings.ts";

export interface ChatOptions {
  settings: Settings;
  fetch: Fetch;
  /** Milliseconds without a byte. */
  idle: number;
  signal: AbortSignal;
}

/** Throws BackendError, or the signal's reason. Leaving the loop closes the connection. */
export async function* chat(
  body: ChatCompletionCreateParamsStreaming,
  { settings, fetch, idle, signal }: ChatOptions,
): AsyncGenerator<StreamEvent> {
  signal.throwIfAborted();
  const line = connection(signal, idle);
  const answer = reply(settings.key);
  let over = false;
  try {
    const response = await line.wait(postChat(settings, body, fetch, line.signal));
    if (!response.ok) {
      const { text } = await line.text(response, 64 * 1024);
      throw statusError(response.status, response.headers, text, settings.key);
    }
    for await (const batch of eventsOf(response, line, settings.key)) {
      let silent = true;
      for (const event of batch) {
        over = event.data.trim() === "[DONE]";
        if (over) break;
        for (const given of answer.take(chunkOf(event, settings.key))) {
          silent = false;
          yield given;
        }
      }
      if (over) break;
      if (silent) yield { type: "progress" };
    }
    yield* answer.end(over, JSON.stringify(body).length);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof BackendError) throw error;
    if (line.signal.aborted) throw line.signal.reason; // the idle limit
    throw networkError(error, new URL(settings.baseURL).origin, settings.key);
  } finally {
    line.close(over);
  }
}

/**
 * The events of a body, a batch for each piece that came. One that is a JSON object (of a server that does not stream, or an error with a good status) is
 * one event and its end; a page is an error. The first character tells, since content types lie.
 */
async function* eventsOf(response: Response, line: Connection, key: string): AsyncGenerator<ServerEvent[]> {
  if (!response.body) return;
  const parser = sseParser();
  let first: string | undefined;
  const decoder = new TextDecoder();
  let document: string | undefined;
  for await (const bytes of line.bytes(response.body)) {
    if (first === undefined) {
      first = /\S/.exec(new TextDecoder().decode(bytes))?.[0];
      if (first === "{" || first === "<") document = "";
    }
    if (document !== undefined && document.length < documentLimit) document += decoder.decode(bytes, { stream: true });
    yield document === undefined ? parsed(() => parser.push(bytes)) : [];
  }
  if (document === undefined) return yield parsed(() => parser.end());
  if (!isReply(document)) throw notAStream(document, key);
  yield [document, "[DONE]"].map((data) => ({ event: "message", data }));
}

/** Characters of a body that is not a stream. */
const documentLimit = 16 * 1024 * 1024;

function isReply(text: string): boolean {
  try {
    const value = JSON.parse(text) as { error?: unknown; choices?: unknown };
    return Boolean(value.error) || Array.isArray(value.choices);
  } catch {
    return false;
  }
}

function parsed(step: () => ServerEvent[]): ServerEvent[] {
  try {
    return step();
  } catch (error) {
    throw new BackendError("transient", `openai: the stream is broken: ${messageOf(error)}`);
  }
}

/** The chunk in an event. Throws BackendError for an `error` event, and for what is not JSON. */
function chunkOf({ event, data }: ServerEvent, key: string): unknown {
  let chunk: { error?: unknown };
  try {
    chunk = JSON.parse(data);
  } catch {
    throw new BackendError("transient", hide(`openai: the stream is broken: not JSON: ${data.slice(0, 80)}`, key));
  }
  if (event === "error") throw inBandError(chunk?.error ?? chunk, key);
  return chunk;
}
