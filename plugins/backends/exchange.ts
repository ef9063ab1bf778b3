/** One HTTP exchange of a backend: each failure is a BackendError in the provider's words. */
import type { BackendError } from "./error.ts";
import type { Failures } from "./failures.ts";
import { bodyText } from "./sse-body.ts";

export interface Exchange {
  /** Sends the request. `signal` governs the body too. */
  open: (signal: AbortSignal) => Promise<Response>;
  /** Named in errors of the network. */
  url: string;
  signal: AbortSignal;
  fail: Failures;
  /** For a provider whose bad statuses say more than `fail.status` reads. `body` may be cut. */
  refusal?: (status: number, headers: Headers, body: string) => BackendError;
}

const longestError = 64 * 1024;
const longestDocument = 16 * 1024 * 1024;

/**
 * What `read` makes of an answer with a good status. Throws BackendError, or the signal's reason, also for what the
 * connection does while `read` reads. Who leaves the loop lets go of the connection.
 */
export async function* exchange<T>(
  request: Exchange,
  read: (answer: Response) => AsyncIterable<T>,
): AsyncGenerator<T, void, void> {
  const { open, url, signal, fail } = request;
  signal.throwIfAborted();
  try {
    const answer = await open(signal);
    if (!answer.ok) {
      const { text } = await bodyText(answer, longestError);
      throw (request.refusal ?? fail.status)(answer.status, answer.headers, text);
    }
    yield* read(answer);
  } catch (error) {
    signal.throwIfAborted();
    throw fail.thrown(error, new URL(url).origin);
  }
}

/** The answer as JSON, whole within `limit` milliseconds (default 5,000). Throws as `exchange` does. */
export async function exchangeJson(request: Exchange, limit = 5_000): Promise<unknown> {
  const { signal, fail } = request;
  signal.throwIfAborted();
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(fail.broken(`no answer in ${limit / 1000} s`)), limit);
  const onAbort = () => stop.abort(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    for await (const value of exchange({ ...request, signal: stop.signal }, (answer) => document(answer, fail)))
      return value;
    throw fail.noReply("");
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

async function* document(answer: Response, fail: Failures): AsyncGenerator<unknown> {
  const { text, whole } = await bodyText(answer, longestDocument);
  if (!whole) throw fail.noReply(`a document over ${longestDocument} bytes`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw fail.noReply(text);
  }
  yield value;
}
