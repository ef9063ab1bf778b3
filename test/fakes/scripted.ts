/** A fake provider over real HTTP on 127.0.0.1: a script of replies, strictness, limits. One wire is one `Wire`. */
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { compile, failure, modelList, type Part, type Parts } from "./parts.ts";
import { bodyOf, play } from "./wire.ts";

export interface FakeRequest {
  method: string;
  /** Without the query. */
  path: string;
  headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it freely
  body: any;
  /** The body as text, for comparing prefixes. */
  raw: string;
  /** The client's port: equal where a connection was used again. */
  port: number | undefined;
  /** Resolves when the exchange is over: true where the client left before the reply was. */
  closed: Promise<boolean>;
}

export interface FakeOptions {
  /** Answer 400 to what a strict provider refuses. Default true. */
  strict?: boolean;
  /** Characters of a body over which the answer is an overflow. */
  window?: number;
  /** Bytes of a body over which the answer is 413. Default 8 MiB. */
  maxBody?: number;
  /** The key to demand; else none. */
  key?: string;
  /** Rows of /v1/models, or names. */
  models?: (string | Record<string, unknown>)[];
}

export interface Fake {
  /** Without `/v1`. */
  readonly url: string;
  /** Variables for a process that is to use it. */
  readonly env: Record<string, string>;
  /** Requests for chat, in order. */
  readonly requests: FakeRequest[];
  /** What a strict provider refused. */
  readonly complaints: string[];
  /** Scripts the next reply; what an orderly end needs is added where it is missing. */
  reply(...parts: Parts): void;
  /** Scripts the next reply; nothing is added. */
  exactly(...parts: Parts): void;
  /** Scripts a failure. An object goes out as the wire's error, a text as it is. */
  error(code: number, body?: string | object, headers?: Record<string, string>): void;
  /** What to answer when the script is empty. */
  always(answer: (request: FakeRequest, n: number) => Parts): void;
  /** What /v1/models answers, byte by byte. */
  models(...parts: Parts): void;
  /** Resolves when `n` requests for chat have come. */
  seen(n: number): Promise<FakeRequest>;
  close(): Promise<void>;
}

/** What is particular to one protocol. */
export interface Wire {
  chat: string;
  /** What must stand in front, and numbers. Default: as it is. */
  prepared?(parts: Part[]): Part[];
  /** Adds what an orderly reply ends with. */
  ended(parts: Part[]): Part[];
  complaint(request: FakeRequest): string | undefined;
  /** The key that a request brought. */
  keyOf(headers: IncomingHttpHeaders): string | undefined;
  /** The body of an error. */
  error(code: number, body: object): object;
  refusal: { key: object; body: object; window: object };
  env(url: string, key: string | undefined): Record<string, string>;
}

export async function scriptedFake(wire: Wire, options: FakeOptions = {}): Promise<Fake> {
  const script: Part[][] = [];
  const requests: FakeRequest[] = [];
  const complaints: string[] = [];
  const waiting = new Set<() => void>();
  let otherwise: ((request: FakeRequest, n: number) => Parts) | undefined;
  let modelParts: Part[] | undefined;
  const prepared = wire.prepared ?? ((parts: Part[]) => parts);
  const whole = (parts: Parts) => prepared(wire.ended(parts.flat()));
  const refuse = (code: number, body: object) => failure(code, wire.error(code, body));

  function answer(request: FakeRequest): Part[] {
    const key = wire.keyOf(request.headers);
    if (options.key !== undefined && key !== options.key)
      return refuse(401, { message: `Incorrect API key provided: ${key}`, ...wire.refusal.key });
    if (request.method === "GET" && request.path === "/v1/models")
      return modelParts ?? modelList(options.models ?? ["fake-1"]);
    if (request.method !== "POST" || request.path !== wire.chat)
      return refuse(404, { message: `unknown url ${request.method} ${request.path}` });
    requests.push(request);
    for (const wake of waiting) wake();
    if (request.raw.length > (options.maxBody ?? 8 * 1024 * 1024)) return refuse(413, wire.refusal.body);
    const wrong = options.strict === false ? undefined : wire.complaint(request);
    if (wrong) {
      complaints.push(wrong);
      return refuse(400, { message: `strict: ${wrong}`, type: "invalid_request_error" });
    }
    if (request.raw.length > (options.window ?? Number.POSITIVE_INFINITY)) return refuse(400, wire.refusal.window);
    const next = script.shift() ?? (otherwise && whole(otherwise(request, requests.length)));
    return next ?? refuse(400, { message: `fake: no reply is scripted for request ${requests.length}` });
  }

  const server = createServer(async (req, res) => {
    const raw = await bodyOf(req).catch(() => "");
    const closed = new Promise<boolean>((resolve) => res.once("close", () => resolve(!res.writableFinished)));
    const parts = answer({
      method: req.method ?? "",
      path: (req.url ?? "").replace(/\?.*/, ""),
      headers: req.headers,
      body: parse(raw),
      raw,
      port: req.socket.remotePort,
      closed,
    });
    const { head, acts, oneByte } = compile(parts);
    await play(res, head, acts, { oneByte });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    url,
    env: wire.env(url, options.key),
    requests,
    complaints,
    reply: (...parts) => void script.push(whole(parts)),
    exactly: (...parts) => void script.push(prepared(parts.flat())),
    error(code, body = { message: `fake error ${code}` }, headers = {}) {
      script.push(failure(code, typeof body === "string" ? body : wire.error(code, body), headers));
    },
    always: (give) => {
      otherwise = give;
    },
    models: (...parts) => {
      modelParts = parts.flat();
    },
    seen: (n) =>
      new Promise((resolve) => {
        const check = () => {
          const request = requests[n - 1];
          if (!request) return;
          waiting.delete(check);
          resolve(request);
        };
        waiting.add(check);
        check();
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function parse(raw: string): unknown {
  try {
    return JSON.parse(raw);
  } catch {
    return undefined;
  }
}
