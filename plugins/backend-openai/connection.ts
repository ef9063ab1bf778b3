/** One request's connection: its limits, its bytes, its end. */
import { BackendError } from "#plugins/backends";

export interface Connection {
  /** For `fetch`: aborts with the caller's reason, or with a BackendError when nothing came for too long. */
  readonly signal: AbortSignal;
  /** The result of `step`, which must obey `signal` and has the idle limit to come. */
  wait<T>(step: Promise<T>): Promise<T>;
  /** The body as it comes. */
  bytes(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array>;
  /** At most `limit` bytes of the body as text; `whole` says whether that was all. */
  text(response: Response, limit: number): Promise<{ text: string; whole: boolean }>;
  /**
   * Lets go. A body that was not read to its end is given up and its socket closed; where `over` says that nothing of
   * interest follows, it gets a moment to end, so that the socket can serve the next request.
   */
  close(over?: boolean): void;
}

/** Milliseconds that the rest of a body has, behind its end mark. */
const grace = 250;

/** `idle`: milliseconds without a byte, before the first one and between two, that mean that the server is gone. */
export function connection(signal: AbortSignal, idle: number): Connection {
  const stop = new AbortController();
  const onAbort = () => stop.abort(signal.reason);
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  let unread: ReadableStreamDefaultReader<Uint8Array> | undefined;

  const self: Connection = {
    signal: stop.signal,
    async wait(step) {
      const late = () => stop.abort(new BackendError("transient", `openai: nothing came for ${idle / 1000} s`));
      const timer = setTimeout(late, idle);
      try {
        return await step;
      } finally {
        clearTimeout(timer);
      }
    },
    async *bytes(body) {
      const reader = body.getReader();
      unread = reader;
      for (;;) {
        const { done, value } = await self.wait(reader.read());
        if (done) break;
        yield value;
      }
      unread = undefined;
    },
    async text(response, limit) {
      const decoder = new TextDecoder();
      let text = "";
      let size = 0;
      if (response.body)
        for await (const bytes of self.bytes(response.body)) {
          text += decoder.decode(bytes.subarray(0, limit - size), { stream: true });
          size += bytes.length;
          if (size > limit) return { text, whole: false };
        }
      return { text: text + decoder.decode(), whole: true };
    },
    close(over = false) {
      signal.removeEventListener("abort", onAbort);
      if (over && unread) void drain(unread, stop);
      else stop.abort();
    },
  };
  return self;
}

async function drain(reader: ReadableStreamDefaultReader<Uint8Array>, stop: AbortController): Promise<void> {
  const timer = setTimeout(() => stop.abort(), grace);
  try {
    while (!(await reader.read()).done);
  } catch {
    // The reply was over: how the rest fails is of no interest.
  }
  clearTimeout(timer);
}
