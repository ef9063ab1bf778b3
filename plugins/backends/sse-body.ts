/** The body of a streamed reply as batches of server-sent events, one for each piece that came. */
import { messageOf } from "#core";
import type { Failures } from "./failures.ts";
import { bodyBytes } from "./http-response.ts";
import { type ServerEvent, sseParser } from "./sse.ts";

/** Characters of a body that is not a stream. */
const documentLimit = 16 * 1024 * 1024;

/**
 * The events of a body. One that is a single JSON object (of a server that does not stream, or an error with a good
 * status) or a page comes as one event named `document`, when it is whole. The first character tells, since content
 * types lie. Empty batches are signs of life. Leaving the loop lets go of the connection.
 */
export async function* sseBatches(response: Response, fail: Failures): AsyncGenerator<ServerEvent[]> {
  const parser = sseParser();
  const decoder = new TextDecoder();
  let first: string | undefined;
  let document: string | undefined;
  const parsed = (step: () => ServerEvent[]) => {
    try {
      return step();
    } catch (error) {
      throw fail.broken(`the stream is broken: ${messageOf(error)}`);
    }
  };
  for await (const bytes of bodyBytes(response)) {
    if (first === undefined) {
      first = /\S/.exec(new TextDecoder().decode(bytes))?.[0];
      if (first === "{" || first === "<") document = "";
    }
    if (document === undefined) yield parsed(() => parser.push(bytes));
    else {
      if (document.length < documentLimit) document += decoder.decode(bytes, { stream: true });
      yield [];
    }
  }
  if (document === undefined) yield parsed(() => parser.end());
  else yield [{ event: "document", data: document }];
}

/** The JSON in an event. Throws BackendError `transient` for what is none. */
export function jsonOf({ data }: ServerEvent, fail: Failures): unknown {
  try {
    return JSON.parse(data);
  } catch {
    throw fail.broken(`the stream is broken: not JSON: ${data.slice(0, 80)}`);
  }
}

/** Whether the text of a call's arguments came whole. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** At most `limit` bytes of a body as text; `whole` says whether that was all. */
export async function bodyText(response: Response, limit: number): Promise<{ text: string; whole: boolean }> {
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  for await (const bytes of bodyBytes(response)) {
    text += decoder.decode(bytes.subarray(0, limit - size), { stream: true });
    size += bytes.length;
    if (size > limit) return { text, whole: false };
  }
  return { text: text + decoder.decode(), whole: true };
}
