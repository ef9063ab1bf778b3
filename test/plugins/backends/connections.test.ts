/** Connections: how they end, what is left of them, and what servers do that close them. */
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test, vi } from "vitest";
import { failures } from "../../../plugins/backends/failures.ts";
import { bodyBytes, providerFetch } from "../../../plugins/backends/types.ts";
import { failure, read } from "./http-kit.ts";

const servers: Server[] = [];
const sockets = new Set<Socket>();
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
});

/** `onRequest` is called with what came, once for each that is whole. Gives the URL. */
async function raw(onRequest: (socket: Socket, head: string, n: number) => void): Promise<string> {
  let n = 0;
  return listen(
    createServer((socket) => {
      let text = "";
      socket.on("data", (bytes) => {
        text += bytes.toString("latin1");
        const end = text.indexOf("\r\n\r\n");
        const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
        if (end < 0 || text.length < end + 4 + length) return;
        const head = text;
        text = "";
        onRequest(socket, head, ++n);
      });
    }),
  );
}

async function listen(server: Server): Promise<string> {
  servers.push(server);
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const big = (n: number) => "x".repeat(n);

test("what came before a body broke off is given, then the error", async () => {
  const url = await raw((socket) => {
    socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n");
    socket.end();
  });
  const response = await providerFetch()(url);
  await sleep(50);
  const body = bodyBytes(response)[Symbol.asyncIterator]();
  expect(Buffer.from((await body.next()).value).toString()).toBe("abc");
  expect(await failure(body.next())).toBeInstanceOf(Error);
});

test("what came in one read with a broken end is given to a reader that waits, then the error", async () => {
  const url = await raw((socket) => {
    socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
    setTimeout(() => socket.write("3\r\nabc\r\nZZZ\r\n"), 30);
  });
  const response = await providerFetch()(url);
  const body = bodyBytes(response)[Symbol.asyncIterator]();
  expect(Buffer.from((await body.next()).value).toString()).toBe("abc");
  expect(await failure(body.next())).toBeInstanceOf(Error);
});

test("a long answer that nobody reads on ends its connection, and no request after it", async () => {
  const url = await raw((socket) => {
    socket.write(`HTTP/1.1 400 Bad\r\ncontent-length: 100000\r\n\r\n${big(100000)}`);
  });
  const fetch = providerFetch();
  for (let n = 0; n < 5; n++) {
    const response = await fetch(url);
    await sleep(30);
    for await (const _ of bodyBytes(response)) break;
    expect((await fetch(url)).status).toBe(400);
  }
});

test("a server that closes after each answer is asked once for each, also in the tick of its end", async () => {
  const url = await raw((socket, _, n) => {
    socket.end(`HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\n${String(n).padStart(2)}`);
  });
  const fetch = providerFetch();
  for (let n = 1; n <= 20; n++)
    expect(await read(await fetch(url, { method: "POST", body: "x" }))).toBe(String(n).padStart(2));
});

test("a server that closes without a word is asked once more", async () => {
  const url = await raw((socket) => void socket.end("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab"));
  const fetch = providerFetch();
  for (let n = 1; n <= 20; n++) expect(await read(await fetch(url, { method: "POST", body: "x" }))).toBe("ab");
});

test.each([
  "connection: close",
  "connection: keep-alive",
  "content-length: 66000\r\nconnection: close",
  "content-length: 66000",
])("a body that waits for a slow reader is whole, also where its connection ends meanwhile: %j", async (fields) => {
  const chunked = fields === "connection: keep-alive";
  const [first, last] = [big(65_000), big(1000)];
  const url = await raw((socket) => {
    socket.write(`HTTP/1.1 200 OK\r\n${fields}${chunked ? "\r\ntransfer-encoding: chunked" : ""}\r\n\r\n`);
    socket.write(chunked ? `${first.length.toString(16)}\r\n${first}\r\n` : first);
    // What comes at last is more than may wait.
    setTimeout(() => socket.end(chunked ? `${last.length.toString(16)}\r\n${last}\r\n0\r\n\r\n` : last), 30);
  });
  const fetch = providerFetch();
  for (let n = 0; n < 2; n++) {
    const response = await fetch(url);
    await sleep(100);
    expect((await read(response)).length).toBe(66_000);
  }
});

test("a connection whose last answer had to wait serves the next one", async () => {
  const url = await raw((socket) => {
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 66000\r\n\r\n${big(65_000)}`);
    setTimeout(() => socket.write(big(1000)), 30);
  });
  const fetch = providerFetch();
  for (let n = 0; n < 3; n++) {
    const response = await fetch(url);
    await sleep(100);
    expect((await read(response)).length).toBe(66_000);
  }
  expect(sockets.size).toBe(1);
});

test("a body without a length ends with its connection", async () => {
  const url = await raw((socket) => {
    socket.write("HTTP/1.0 200 OK\r\n\r\n");
    setTimeout(() => socket.end(big(200_000)), 20);
  });
  const fetch = providerFetch();
  const response = await fetch(url);
  await sleep(100);
  expect((await read(response)).length).toBe(200_000);
  expect((await read(await fetch(url))).length).toBe(200_000);
});

test("a request on a connection that was made anew is not sent twice", async () => {
  let second = 0;
  const url = await raw((socket, _, n) => {
    if (n === 1) return socket.end("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nab");
    second++;
    socket.resetAndDestroy();
  });
  const fetch = providerFetch();
  const response = await fetch(url);
  await read(response);
  expect(await failure(fetch(url, { method: "POST", body: "x" }))).toMatchObject({ code: "ECONNRESET" });
  expect(second).toBe(1);
});

const silent = () => listen(createServer((socket) => void socket.resume()));

/** A proxy that opens tunnels to nobody. */
function hollow(): Promise<string> {
  const server = createHttpServer();
  server.on("connect", (_, socket) => {
    socket.on("end", () => socket.end()).resume();
    socket.write("HTTP/1.1 200 OK\r\n\r\n");
  });
  return listen(server);
}

test.each<[string, () => Promise<[to: string, proxy?: string]>]>([
  ["in the handshake", async () => [(await silent()).replace("http:", "https:")]],
  ["at the proxy", async () => ["https://models.test/", await silent()]],
  ["in the tunnel", async () => ["https://models.test/", await hollow()]],
])("an abort %s leaves no connection", async (_, where) => {
  const [to, proxy] = await where();
  const stop = new AbortController();
  const asked = failure(providerFetch({ env: proxy ? { https_proxy: proxy } : {} })(to, { signal: stop.signal }));
  await vi.waitFor(() => expect(sockets.size).toBe(1));
  await sleep(30);
  stop.abort(new Error("stopped"));
  expect(await asked).toBe(stop.signal.reason);
  await vi.waitFor(() => expect(sockets.size).toBe(0));
});

test("the user and password of a URL are sent", async () => {
  const heads: string[] = [];
  const url = await raw((socket, head) => {
    heads.push(head);
    socket.write("HTTP/1.1 204 No\r\n\r\n");
  });
  const fetch = providerFetch();
  await fetch(url.replace("//", "//me:p%40ss@"));
  expect(heads[0]).toMatch(/authorization: Basic bWU6cEBzcw==/);
  await fetch(url.replace("//", "//me:p%40ss@"), { headers: { Authorization: "Bearer k" } });
  expect(heads[1]).toMatch(/authorization: Bearer k/);
});

test("answers without a body, and what a header may hold", async () => {
  const answers = [
    "HTTP/1.1 204 No\r\ncontent-length: 0\r\n\r\n",
    "HTTP/1.1 304 No\r\n\r\n",
    "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n",
    "HTTP/1.1 200 OK\r\nx: \xe9\r\ncontent-length: 1\r\n\r\n1",
  ];
  const heads: string[] = [];
  const url = await raw((socket, head, n) => {
    heads.push(head);
    socket.write(answers[n - 1] ?? "", "latin1");
  });
  const fetch = providerFetch();
  expect(await read(await fetch(url))).toBe("");
  expect(await read(await fetch(url))).toBe("");
  expect(await read(await fetch(url, { method: "HEAD" }))).toBe("");
  expect((await fetch(url, { headers: { y: "\xe9" } })).headers.get("x")).toBe("é");
  expect(heads[0]).not.toMatch(/accept-encoding/i);
  expect(heads[3]).toContain("y: \xe9\r\n");
});

test("a key that can not stand in a header is told without it, and not tried again", async () => {
  const error = await failure(
    providerFetch()("http://127.0.0.1:1", { headers: { Authorization: "Bearer sk\r\nx: y" } }),
  );
  const told = failures("one", "").thrown(error, "http://127.0.0.1:1");
  expect(told).toMatchObject({ kind: "badRequest", message: expect.stringMatching(/invalid authorization header$/) });
});
