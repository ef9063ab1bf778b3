/** The HTTP client: silence, aborts, connections, proxies, and the shape of `fetch`. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { BackendError, bodyBytes, providerFetch } from "../../../plugins/backends/types.ts";
import { certificate, privateKey } from "../../fakes/tls.ts";
import { failure, read } from "./http-kit.ts";

const servers: Server[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
});

async function listen(server: Server): Promise<number> {
  servers.push(server);
  server.on("connection", (socket: Socket) => sockets.push(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

type Handler = (req: IncomingMessage, res: ServerResponse) => void;

async function serve(handler: Handler): Promise<{ url: string; server: Server }> {
  const server = createServer(handler);
  return { server, url: `http://127.0.0.1:${await listen(server)}` };
}

/** Resolves when the client's side of a response is gone. */
const gone = (res: ServerResponse) => new Promise<void>((resolve) => res.once("close", () => resolve()));

test("a request carries method, headers and body; a response has status, headers and body", async () => {
  const { url } = await serve(async (req, res) => {
    let body = "";
    for await (const piece of req) body += piece;
    res.writeHead(418, { "x-one": "1", "set-cookie": ["a", "b"] });
    res.end(
      JSON.stringify({
        method: req.method,
        auth: req.headers.authorization,
        length: req.headers["content-length"],
        body,
      }),
    );
  });
  const response = await providerFetch()(`${url}/p?q=1`, {
    method: "POST",
    headers: new Headers({ Authorization: "Bearer k" }),
    body: "é",
  });
  expect([response.status, response.ok, response.headers.get("x-one")]).toEqual([418, false, "1"]);
  expect(await response.json()).toEqual({ method: "POST", auth: "Bearer k", length: "2", body: "é" });
  expect(response.bodyUsed).toBe(true);
});

test("a body can be read as a web stream, as packages do", async () => {
  const { url } = await serve((_, res) => res.end("one two"));
  const response = await providerFetch()(url);
  let text = "";
  for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) text += Buffer.from(piece);
  expect(text).toBe("one two");
});

test("a connection serves one request after the other, also where the reader left at the end mark", async () => {
  const ports = new Set<number | undefined>();
  const { url } = await serve((req, res) => {
    ports.add(req.socket.remotePort);
    res.write("data: [DONE]\n\n");
    setTimeout(() => res.end(), 20);
  });
  const fetch = providerFetch();
  for (let n = 0; n < 3; n++) {
    for await (const _ of bodyBytes(await fetch(url))) break;
    await sleep(60);
  }
  expect(ports.size).toBe(1);
});

test("a body that is left and goes on is closed", async () => {
  let left: Promise<void> | undefined;
  const { url } = await serve((_, res) => {
    left = gone(res);
    res.write("a");
  });
  for await (const _ of bodyBytes(await providerFetch()(url))) break;
  await left;
});

test("a kept connection that the server closed is replaced, and the request is sent once more", async () => {
  let calls = 0;
  const { url } = await serve((req, res) => {
    calls++;
    // The second request on a connection finds it torn down, as when a server's keep-alive time is over.
    if ((req.socket as Socket & { served?: true }).served) return req.socket.resetAndDestroy();
    Object.assign(req.socket, { served: true });
    res.end("ok");
  });
  const fetch = providerFetch();
  expect(await read(await fetch(url))).toBe("ok");
  expect(await read(await fetch(url, { method: "POST", body: "x" }))).toBe("ok");
  expect(calls).toBe(3);
});

test("a new connection that is torn down is an error with its code, and is not tried again", async () => {
  let calls = 0;
  const { url } = await serve((req) => {
    calls++;
    req.socket.resetAndDestroy();
  });
  expect(await failure(providerFetch()(url))).toMatchObject({ code: "ECONNRESET" });
  expect(calls).toBe(1);
});

test("H-019: silence before the first byte is over at the limit, and the socket is closed", async () => {
  let left: Promise<void> | undefined;
  const { url } = await serve((_, res) => {
    left = gone(res);
  });
  const error = await failure(providerFetch({ idle: 80 })(url));
  expect(error).toBeInstanceOf(BackendError);
  expect(error).toMatchObject({ kind: "transient", message: "nothing came for 0.08 s" });
  await left;
});

test("H-019: silence in the body is over at the limit, and a slow reader is no silence", async () => {
  let left: Promise<void> | undefined;
  const { url } = await serve((_, res) => {
    left = gone(res);
    res.write("a");
    setTimeout(() => res.write("b"), 60);
  });
  const body = bodyBytes(await providerFetch({ idle: 150 })(url))[Symbol.asyncIterator]();
  expect(Buffer.from((await body.next()).value).toString()).toBe("a");
  await sleep(400);
  expect(Buffer.from((await body.next()).value).toString()).toBe("b");
  expect(await failure(body.next())).toMatchObject({ kind: "transient" });
  await left;
});

test("a process that was busy for longer than the limit reads what came meanwhile", async () => {
  const server = `
    const { parentPort } = require("node:worker_threads");
    const server = require("node:http").createServer((_, res) => {
      res.write("a");
      setTimeout(() => res.end("b"), 100);
    });
    server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));`;
  const worker = new Worker(server, { eval: true });
  onTestFinished(async () => void (await worker.terminate()));
  const [port] = await once(worker, "message");
  const response = await providerFetch({ idle: 200 })(`http://127.0.0.1:${port}`);
  const body = bodyBytes(response)[Symbol.asyncIterator]();
  expect(Buffer.from((await body.next()).value).toString()).toBe("a");
  const next = body.next();
  for (const until = performance.now() + 400; performance.now() < until; );
  expect(Buffer.from((await next).value).toString()).toBe("b");
});

test.each(["before the first byte", "in the body", "before the request"])(
  "an abort %s rejects with its reason",
  async (when) => {
    let left: Promise<void> | undefined;
    let calls = 0;
    const { url } = await serve((_, res) => {
      calls++;
      left = gone(res);
      if (when === "in the body") res.write("a");
    });
    const stop = new AbortController();
    const reason = new Error("stopped");
    const abort = () => stop.abort(reason);
    if (when === "before the request") abort();
    else setTimeout(abort, 60);
    const all = providerFetch()(url, { signal: stop.signal }).then(read);
    expect(await failure(all)).toBe(reason);
    await left;
    expect(calls).toBe(when === "before the request" ? 0 : 1);
  },
);

test("a body that breaks off is an error", async () => {
  const { url } = await serve((req, res) => {
    res.writeHead(200, { "content-length": "10" });
    res.write("abc");
    setTimeout(() => req.socket.destroy(), 20);
  });
  expect(await failure(providerFetch()(url).then(read))).toBeInstanceOf(Error);
});

test("a redirect is given out, not followed: the key would go with it", async () => {
  let calls = 0;
  const { url } = await serve((_, res) => {
    calls++;
    res.writeHead(307, { location: "/other" }).end();
  });
  expect((await providerFetch()(url)).status).toBe(307);
  expect(calls).toBe(1);
});

test("HTTP_PROXY: requests go through it with its credentials, but for loopback and NO_PROXY", async () => {
  const asked: string[] = [];
  const proxy = await serve((req, res) => {
    asked.push(`${req.url} ${req.headers.host} ${req.headers["proxy-authorization"]}`);
    res.end("by proxy");
  });
  const direct = await serve((_, res) => res.end("direct"));
  const env = { HTTP_PROXY: proxy.url.replace("//", "//me:p%40ss@"), NO_PROXY: "other.test, .inner.test:8080" };
  const fetch = providerFetch({ env });
  expect(await read(await fetch("http://models.test/v1?x=1"))).toBe("by proxy");
  const credentials = Buffer.from("me:p@ss").toString("base64");
  expect(asked).toEqual([`http://models.test/v1?x=1 models.test Basic ${credentials}`]);
  expect(await read(await fetch(direct.url))).toBe("direct");
  for (const url of ["http://other.test/", "http://a.other.test/", "http://b.inner.test:8080/"])
    expect(await failure(fetch(url))).toMatchObject({ code: expect.stringMatching(/ENOTFOUND|EAI_AGAIN/) });
  expect(asked.length).toBe(1);
});

test("HTTPS_PROXY: a tunnel is asked for, and a refusal is told without the password", async () => {
  const asked: string[] = [];
  const { server, url } = await serve(() => {});
  server.on("connect", (req, socket) => {
    asked.push(`${req.url}`);
    socket.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
  });
  const fetch = providerFetch({ env: { https_proxy: url.replace("//", "//me:secret@") } });
  const error = (await failure(fetch("https://models.test/v1"))) as Error;
  expect(asked).toEqual(["models.test:443"]);
  expect(error.message).toMatch(/^the proxy 127\.0\.0\.1:\d+ answered 407 to CONNECT$/);
});

/** A proxy all of whose tunnels lead to `port`; `asked` gets where they were to lead. */
async function tunnelsTo(port: number): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = [];
  const { server, url } = await serve(() => {});
  server.on("connect", (req, socket) => {
    asked.push(`${req.url}`);
    const inner = connect(port, "127.0.0.1");
    socket.write("HTTP/1.1 200 OK\r\n\r\n");
    inner.pipe(socket).pipe(inner);
    socket.on("error", () => {});
  });
  return { url, asked };
}

test("HTTPS_PROXY: requests go through the tunnel, on one connection", async () => {
  const secure = createSecureServer({ cert: certificate, key: privateKey }, (req, res) => res.end(`${req.url} inside`));
  const { url, asked } = await tunnelsTo(await listen(secure));
  vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
  const fetch = providerFetch({ env: { https_proxy: url } });
  expect(await read(await fetch("https://models.test/a"))).toBe("/a inside");
  expect(await read(await fetch("https://models.test/b"))).toBe("/b inside");
  expect(asked).toHaveLength(1);
  vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "1");
  const strict = providerFetch({ env: { https_proxy: url } });
  expect(await failure(strict("https://models.test/"))).toMatchObject({ code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
});

test("HTTPS_PROXY: an address is asked for as one", async () => {
  const secure = createSecureServer({ cert: certificate, key: privateKey }, (_, res) => res.end("inside"));
  const { url, asked } = await tunnelsTo(await listen(secure));
  vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
  const fetch = providerFetch({ env: { https_proxy: url } });
  for (const host of ["[2001:db8::1]", "192.0.2.1:8443"])
    expect(await read(await fetch(`https://${host}/`))).toBe("inside");
  expect(asked).toEqual(["[2001:db8::1]:443", "192.0.2.1:8443"]);
});

test("an interim response is not the response, and a body that waits stops the server", async () => {
  let written = 0;
  const { url } = await serve((_, res) => {
    res.writeEarlyHints({ link: "</a>; rel=preload" });
    const more = () => {
      while (written < 64 << 20) {
        written += 1 << 20;
        if (!res.write(Buffer.alloc(1 << 20, "x"))) return res.once("drain", more);
      }
      res.end();
    };
    more();
  });
  const response = await providerFetch()(url);
  expect(response.status).toBe(200);
  await sleep(200);
  const before = written;
  expect(before).toBeLessThan(32 << 20);
  expect((await read(response)).length).toBe(64 << 20);
});

test("a proxy that is none is named without its value", async () => {
  const fetch = providerFetch({ env: { HTTPS_PROXY: "socks5://me:secret@host" } });
  const error = (await failure(fetch("https://models.test/"))) as Error;
  expect(error.message).toBe("HTTPS_PROXY: not an http:// URL");
});
