/** The client behind http.ts: undici, with a limit on silence, aborts, and the way to a proxy. */
import type { Client as ClientType } from "undici";
import { type Connection, connections } from "./connections.ts";
import { BackendError } from "./error.ts";
import type { HttpOptions, ProviderFetch } from "./http.ts";
import { type Body, type BodyWatch, bodyReader } from "./http-body.ts";
import { responseOf } from "./http-response.ts";
import { credentials, type Route, router } from "./proxy.ts";

/** What `providerFetch` documents. */
export function client(options: HttpOptions, Client: typeof ClientType): ProviderFetch {
  const idle = options.idle ?? 120_000;
  const route = router(options.env ?? process.env);
  const pool = connections(Client);
  return async (input, init = {}) => {
    const url = new URL(typeof input === "object" && "url" in input ? input.url : input);
    const sent: Sent = {
      method: (init.method ?? "GET").toUpperCase(),
      headers: { ...credentials(url, "authorization"), ...headersOf(init.headers) },
      body: payload(init.body),
      signal: init.signal ?? undefined,
    };
    sent.signal?.throwIfAborted();
    const way = route(url);
    try {
      return await exchange(url, sent, way, pool.take(way), idle);
    } catch (error) {
      // The server had closed a kept connection before the request was on it: nothing was done, and a new one serves.
      if (!(error instanceof StaleConnection)) throw error;
      return exchange(url, sent, way, pool.take(way, true), idle);
    }
  };
}

interface Sent {
  method: string;
  headers: Record<string, string>;
  body: string | Uint8Array | null;
  signal: AbortSignal | undefined;
}

class StaleConnection extends Error {}

/** How a connection fails that the other side has closed. */
const closed = ["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"];

function exchange(
  url: URL,
  { method, headers, body, signal }: Sent,
  way: Route,
  connection: Connection,
  idle: number,
): Promise<Response> {
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
    const stop = () => {
      reader?.drop();
      fail(signal?.reason);
    };
    const fail = (error: unknown) => {
      watch.over();
      reader?.fail(error);
      reject(error);
      connection.close();
    };

    signal?.addEventListener("abort", stop, { once: true });
    connection.client.dispatch(
      { method: method as "POST", path: way.path, headers: { ...headers, ...way.headers }, body },
      {
        onRequestStart() {},
        onResponseStart(_, status, fields, statusText = "") {
          // 103 and the like: the response is still to come
          if (status < 200) return;
          watch.rests();
          reader = bodyReader(connection, watch, connection.close);
          resolve(responseOf(url, { status, statusText, fields }, reader));
        },
        onResponseData: (_, piece) => reader?.push(piece),
        onResponseEnd() {
          reader?.end();
          connection.done();
        },
        onResponseError(_, error: NodeJS.ErrnoException) {
          const stale = connection.used && !reader && closed.includes(error.code ?? "");
          fail(stale ? new StaleConnection() : error);
        },
      },
    );
  });
}

function payload(body: unknown): string | Uint8Array | null {
  if (body === undefined || body === null) return null;
  if (typeof body === "string" || body instanceof Uint8Array) return body;
  if (body instanceof URLSearchParams) return body.toString();
  throw new TypeError("http: the body of a request is text or bytes");
}

function headersOf(given: RequestInit["headers"]): Record<string, string> {
  if (!given) return {};
  const pairs = Symbol.iterator in given ? [...given] : Object.entries(given);
  return Object.fromEntries(pairs.map(([name = "", value]) => [name.toLowerCase(), String(value)]));
}
