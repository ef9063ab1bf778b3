/** Which way a request goes: straight, or through the proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY name. */
import { request as httpRequest } from "node:http";
import { isIPv6 } from "node:net";
import { type Connect, secured, straight } from "./connect.ts";
import { BackendError } from "./error.ts";

export interface Route {
  /** Requests with the same key can use one connection. */
  readonly key: string;
  /** Of the server, or the proxy, that is connected to. */
  readonly origin: string;
  /** In the request line. */
  readonly path: string;
  /** On top of the request's own. */
  readonly headers: Record<string, string>;
  readonly connect: Connect;
}

/** The variables are looked at for each request, lower case first. */
export const router =
  (env: NodeJS.ProcessEnv) =>
  (url: URL): Route => {
    const proxy = proxyFor(url, env);
    const { origin } = url;
    const path = url.pathname + url.search;
    if (!proxy) return { key: origin, origin, path, headers: {}, connect: straight };
    if (url.protocol === "https:")
      return { key: `${origin} ${proxy.href}`, origin, path, headers: {}, connect: tunnel(proxy) };
    const headers = { host: url.host, ...authorization(proxy) };
    return { key: proxy.origin, origin: proxy.origin, path: origin + path, headers, connect: straight };
  };

/** The proxy of a URL, or undefined. Loopback addresses are never asked for at a proxy. Throws BackendError `badRequest`. */
export function proxyFor(url: URL, env: NodeJS.ProcessEnv): URL | undefined {
  const name = url.protocol === "https:" ? "https_proxy" : "http_proxy";
  const value = (env[name] || env[name.toUpperCase()] || env.all_proxy || env.ALL_PROXY)?.trim();
  if (!value || isLoopback(url.hostname) || excepted(url, env.no_proxy || env.NO_PROXY || "")) return undefined;
  const text = /^[a-z0-9+.-]+:\/\//i.test(value) ? value : `http://${value}`;
  const proxy = URL.canParse(text) ? new URL(text) : undefined;
  // The value may hold a password: it is not shown.
  if (proxy?.protocol !== "http:") throw new BackendError("badRequest", `${name.toUpperCase()}: not an http:// URL`);
  return proxy;
}

const isLoopback = (host: string) =>
  host === "localhost" || host.endsWith(".localhost") || host === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(host);

/** NO_PROXY: `*`, or names separated by commas or blanks; a name counts for what is below it too; `:port` narrows it. */
function excepted(url: URL, list: string): boolean {
  const port = url.port || (url.protocol === "https:" ? "443" : "80");
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .some((entry) => {
      const [, name = "", only] = /^(.*?)(?::(\d+))?$/.exec(entry) ?? [];
      if (name === "" || (only !== undefined && only !== port)) return false;
      const host = name.replace(/^\*?\./, "");
      return name === "*" || url.hostname === host || url.hostname.endsWith(`.${host}`);
    });
}

const address = (proxy: URL) => ({ host: proxy.hostname.replace(/^\[|\]$/g, ""), port: proxy.port || 80 });

const authorization = (proxy: URL): Record<string, string> => credentials(proxy, "proxy-authorization");

/** The header that says what user and password a URL names. */
export function credentials({ username, password }: URL, header: string): Record<string, string> {
  if (username === "" && password === "") return {};
  const user = [username, password].map(decodeURIComponent).join(":");
  return { [header]: `Basic ${Buffer.from(user).toString("base64")}` };
}

/** Connections to servers through a tunnel that the proxy opens. */
const tunnel =
  (proxy: URL): Connect =>
  (to, done) => {
    const { hostname, port } = to;
    const authority = `${isIPv6(hostname) ? `[${hostname}]` : hostname}:${port || 443}`;
    const asked = httpRequest({
      ...address(proxy),
      method: "CONNECT",
      path: authority,
      headers: { host: authority, ...authorization(proxy) },
      agent: false,
    });
    let made: { destroy(): unknown } = asked;
    const failed = (error: Error) => done(error, null);
    asked.on("error", failed);
    asked.on("connect", (response, socket) => {
      if (response.statusCode !== 200) {
        socket.destroy();
        return failed(new Error(`the proxy ${proxy.host} answered ${response.statusCode} to CONNECT`));
      }
      made = secured(to, { socket }, done);
    });
    asked.end();
    return { destroy: () => made.destroy() };
  };
