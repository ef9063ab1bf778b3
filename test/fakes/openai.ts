/**
 * A strict fake of a Chat Completions provider over real HTTP on 127.0.0.1. Replies are scripted in order:
 *
 *   const fake = await openaiFake();
 *   fake.reply(text("let me look"), call("shell", { command: "ls" }));
 *   fake.reply(text("two files"));
 *   … run with fake.env …
 *   fake.requests[1].body.messages; fake.complaints; await fake.close();
 *
 * No test library is needed.
 */
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { compile, ended, failure, modelList, type Part, type Parts } from "./chat-parts.ts";
import { complaint } from "./strict-chat.ts";
import { bodyOf, play } from "./wire.ts";

export * from "./chat-parts.ts";

export interface FakeRequest {
  method: string;
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

export interface OpenAIFake {
  /** Without `/v1`. */
  readonly url: string;
  /** Variables for a process that is to use it. */
  readonly env: Record<string, string>;
  /** Requests for chat, in order. */
  readonly requests: FakeRequest[];
  /** What a strict provider refused. */
  readonly complaints: string[];
  /** Scripts the next reply; finish reason, usage and [DONE] are added where they are missing. */
  reply(...parts: Parts): void;
  /** Scripts the next reply; nothing is added. */
  exactly(...parts: Parts): void;
  /** Scripts a failure. An object goes out as `{"error": …}`, a text as it is. */
  error(code: number, body?: string | object, headers?: Record<string, string>): void;
  /** What to answer when the script is empty. */
  always(answer: (request: FakeRequest, n: number) => Parts): void;
  /** What /v1/models answers, byte by byte. */
  models(...parts: Parts): void;
  /** Resolves when `n` requests for chat have come. */
  seen(n: number): Promise<FakeRequest>;
  close(): Promise<void>;
}

export async function openaiFake(options: FakeOptions = {}): Promise<OpenAIFake> {
  const script: Part[][] = [];
  const requests: FakeRequest[] = [];
  const complaints: string[] = [];
  const waiting = new Set<() => void>();
  let otherwise: ((request: FakeRequest, n: number) => Parts) | undefined;
  let modelParts: Part[] | undefined;

  function answer(request: FakeRequest): Part[] {
    const auth = request.headers.authorization;
    if (options.key !== undefined && auth !== `Bearer ${options.key}`)
      return failure(401, {
        message: `Incorrect API key provided: ${auth?.replace("Bearer ", "")}`,
        code: "invalid_api_key",
      });
    if (request.method === "GET" && request.path === "/v1/models")
      return modelParts ?? modelList(options.models ?? ["fake-1"]);
    if (request.method !== "POST" || request.path !== "/v1/chat/completions")
      return failure(404, { message: `unknown url ${request.method} ${request.path}` });
    requests.push(request);
    for (const wake of waiting) wake();
    if (request.raw.length > (options.maxBody ?? 8 * 1024 * 1024))
      return failure(413, { message: "body is too large" });
    const wrong = options.strict === false ? undefined : complaint(request.body);
    if (wrong) {
      complaints.push(wrong);
      return failure(400, { message: `strict: ${wrong}`, type: "invalid_request_error" });
    }
    if (request.raw.length > (options.window ?? Number.POSITIVE_INFINITY))
      return failure(400, { message: "This model's window is smaller", code: "context_length_exceeded" });
    const next = script.shift() ?? (otherwise && ended(otherwise(request, requests.length).flat()));
    return next ?? failure(400, { message: `fake: no reply is scripted for request ${requests.length}` });
  }

  const server = createServer(async (req, res) => {
    const raw = await bodyOf(req).catch(() => "");
    const closed = new Promise<boolean>((resolve) => res.once("close", () => resolve(!res.writableFinished)));
    const request: FakeRequest = {
      method: req.method ?? "",
      path: req.url ?? "",
      headers: req.headers,
      body: parse(raw),
      raw,
      port: req.socket.remotePort,
      closed,
    };
    const parts = answer(request);
    const { head, acts, oneByte } = compile(parts);
    await play(res, head, acts, { oneByte });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    url,
    env: {
      OLLIE_BACKEND: "openai",
      OLLIE_OPENAI_URL: url,
      OLLIE_MODEL: "fake-1",
      ...(options.key === undefined ? {} : { OLLIE_OPENAI_KEY: options.key }),
    },
    requests,
    complaints,
    reply: (...parts) => void script.push(ended(parts.flat())),
    exactly: (...parts) => void script.push(parts.flat()),
    error: (code, body = { message: `fake error ${code}` }, headers) => void script.push(failure(code, body, headers)),
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
