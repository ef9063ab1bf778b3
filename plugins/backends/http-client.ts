/** The client behind http.ts: node:http with connections kept alive, a limit on silence, aborts, and the way to a proxy. */
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { BackendError } from "./error.ts";
import type { HttpOptions, ProviderFetch } from "./http.ts";
import { type Body, type BodyWatch, bodyReader } from "./http-body.ts";
import { responseOf } from "./http-response.ts";
import { type Route, router } from "./proxy.ts";

/** What `providerFetch` documents. */
export function client(options: HttpOptions): ProviderFetch {
  const idle = options.idle ?? 120_000;
  const route = router(options.env ?? process.env);
  return async (input, init = {}) => {
    const url = new URL(typeof input === "object" && "url" in input ? input.url : input);
    const sent: Sent = {
      method: (init.method ?? "GET").toUpperCase(),
      headers: headersOf(init.headers),
      body: payload(init.body),
      signal: init.signal ?? undefined,
    };
    sent.signal?.throwIfAborted();
    const way = route(url);
    try {
      return await exchange(url, sent, way, idle);
    } catch (error) {
      // The server had closed a kept connection before the request was on it: nothing was done, and a new one serves.
      if (!(error instanceof StaleConnection)) throw error;
      return exchange(url, sent, { ...way, agent: way.fresh() }, idle);
    }
  };
}

interface Sent {
  method: string;
  headers: Record<string, string>;
  body: string | Uint8Array | undefined;
  signal: AbortSignal | undefined;
}

class StaleConnection extends Error {}

function exchange(url: URL, { method, headers, body, signal }: Sent, way: Route, idle: number): Promise<Response> {
  return new Promise((resolve, reject) => {
    let reader: Body | undefined;
    let waiting = true;
    let waits = 0;
    const timer = setTimeout(() => {
      // Where it was this process that did not get around to reading, the bytes are there: they are read first.
      const now = waits;
      setImmediate(() => {
        if (waiting && waits === now) fail(new BackendError("transient", `nothing came for ${idle / 1000} s`));
      });
    }, idle);
    const watch: BodyWatch = {
      waits() {
        waiting = true;
        waits++;
        timer.refresh();
      },
      rests() {
        waiting = false;
      },
      over() {
        clearTimeout(timer);
        signal?.removeEventListener("abort", stop);
      },
    };
    const stop = () => fail(signal?.reason);
    const fail = (error: unknown) => {
      watch.over();
      reader?.fail(error);
      reject(error);
      request.destroy();
    };

    const send = url.protocol === "https:" ? httpsRequest : httpRequest;
    const request = send({ ...way.target, method, headers: { ...headers, ...way.headers }, agent: way.agent });
    signal?.addEventListener("abort", stop, { once: true });
    request.on("error", (error: NodeJS.ErrnoException) => {
      const stale = request.reusedSocket && !reader && (error.code === "ECONNRESET" || error.code === "EPIPE");
      fail(stale ? new StaleConnection() : error);
    });
    request.on("response", (message) => {
      watch.rests();
      reader = bodyReader(message, watch);
      resolve(responseOf(url, message, reader));
    });
    request.end(body);
  });
}

function payload(body: unknown): string | Uint8Array | undefined {
  if (body === undefined || body === null) return undefined;
  if (typeof body === "string" || body instanceof Uint8Array) return body;
  if (body instanceof URLSearchParams) return body.toString();
  throw new TypeError("http: the body of a request is text or bytes");
}

function headersOf(given: RequestInit["headers"]): Record<string, string> {
  if (!given) return {};
  const pairs = Symbol.iterator in given ? [...given] : Object.entries(given);
  return Object.fromEntries(pairs.map(([name = "", value]) => [name.toLowerCase(), String(value)]));
}
