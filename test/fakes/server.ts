/** What the fakes of providers share: a real HTTP server on 127.0.0.1 whose answers are scripted. No test library. */
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { type Act, bodyOf, type Head, play } from "./wire.ts";

export interface Request {
  method: string;
  /** Without the query. */
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it freely
  body: any;
  raw: string;
  /** Resolves when the exchange is over: true where the client left before the reply was. */
  closed: Promise<boolean>;
}

export interface Answer {
  head?: Partial<Head>;
  acts: Act[];
  /** Bytes of one write; undefined: each act is one. */
  size?: number;
}

export interface Server {
  readonly url: string;
  /** All requests, in order. */
  readonly requests: Request[];
  close(): Promise<void>;
}

export async function serve(answer: (request: Request) => Answer | Promise<Answer>): Promise<Server> {
  const requests: Request[] = [];
  const server = createServer(async (req, res) => {
    const raw = await bodyOf(req).catch(() => "");
    const url = new URL(req.url ?? "/", "http://fake");
    const request: Request = {
      method: req.method ?? "",
      path: url.pathname,
      query: url.searchParams,
      headers: req.headers,
      body: parse(raw),
      raw,
      closed: new Promise<boolean>((resolve) => res.once("close", () => resolve(!res.writableFinished))),
    };
    requests.push(request);
    const { head, acts, size } = await Promise.resolve(request)
      .then(answer)
      .catch((error) => json({ error: `fake: ${error}` }, 500));
    const full = { status: head?.status ?? 200, headers: head?.headers ?? { "content-type": "application/json" } };
    if (size === undefined || size === 1) await play(res, full, acts, { oneByte: size === 1 });
    else
      await play(
        res,
        full,
        acts.flatMap((act) => cut(act, size)),
      );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export const bytes = (data: string | Uint8Array): Act => ({ do: "bytes", bytes: Buffer.from(data) });
export const json = (value: unknown, status = 200, headers: Record<string, string> = {}): Answer => ({
  head: { status, headers: { "content-type": "application/json", ...headers } },
  acts: [bytes(JSON.stringify(value))],
});

/** One write of many bytes as many writes with a turn of the loop between them. */
function cut(act: Act, size: number): Act[] {
  if (act.do !== "bytes") return [act];
  const pieces: Act[] = [];
  for (let at = 0; at < act.bytes.length; at += size) {
    pieces.push({ do: "bytes", bytes: act.bytes.subarray(at, at + size) }, { do: "wait", ms: 0 });
  }
  return pieces;
}

function parse(raw: string): unknown {
  try {
    return JSON.parse(raw);
  } catch {
    return undefined;
  }
}
