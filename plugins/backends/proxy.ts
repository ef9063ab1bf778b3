/** Which way a request goes: straight, or through the proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY name. */
import { Agent as HttpAgent, request as httpRequest, type RequestOptions } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import type { Duplex } from "node:stream";
import { connect as tlsConnect } from "node:tls";
import { urlToHttpOptions } from "node:url";
import { BackendError } from "./error.ts";

export interface Route {
  /** For `request` of node:http or node:https. */
  readonly target: RequestOptions;
  readonly headers: Record<string, string>;
  readonly agent: HttpAgent;
  /** An agent whose connections are new and used once. */
  fresh(): HttpAgent;
}

/** Free connections are closed after this many milliseconds: routers forget silent ones, and servers close them. */
const kept = { keepAlive: true, timeout: 55_000, scheduling: "lifo" } as const;
const once = { keepAlive: false } as const;

type Keep = typeof kept | typeof once;

/** One set of connections. The variables are looked at for each request, lower case first. */
export function router(env: NodeJS.ProcessEnv): (url: URL) => Route {
  const agents = new Map<string, HttpAgent>();
  const agentFor = (key: string, make: (keep: Keep) => HttpAgent) => {
    let agent = agents.get(key);
    if (!agent) {
      agent = make(kept);
      agents.set(key, agent);
    }
    return { agent, fresh: () => make(once) };
  };
  return (url) => {
    const proxy = proxyFor(url, env);
    const secure = url.protocol === "https:";
    if (!proxy)
      return {
        target: urlToHttpOptions(url),
        headers: {},
        ...agentFor(url.protocol, (keep) => (secure ? new HttpsAgent(keep) : new HttpAgent(keep))),
      };
    if (secure) {
      const through = agentFor(`${url.protocol} ${proxy.href}`, (keep) => new TunnelAgent(proxy, keep));
      return { target: urlToHttpOptions(url), headers: {}, ...through };
    }
    return {
      target: { ...address(proxy), path: url.href },
      headers: { host: url.host, ...authorization(proxy) },
      ...agentFor("http:", (keep) => new HttpAgent(keep)),
    };
  };
}

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

function authorization(proxy: URL): Record<string, string> {
  if (proxy.username === "" && proxy.password === "") return {};
  const user = [proxy.username, proxy.password].map(decodeURIComponent).join(":");
  return { "proxy-authorization": `Basic ${Buffer.from(user).toString("base64")}` };
}

type Connected = (error: Error | null, socket?: Duplex) => void;

/** Connections to servers through a tunnel that the proxy opens. */
class TunnelAgent extends HttpsAgent {
  readonly #proxy: URL;
  constructor(proxy: URL, keep: Keep) {
    super(keep);
    this.#proxy = proxy;
  }

  override createConnection(
    options: { host?: string; port?: number; servername?: string },
    done: Connected,
  ): undefined {
    const { host = "", port = 443 } = options;
    const authority = `${host.includes(":") ? `[${host}]` : host}:${port}`;
    const asked = httpRequest({
      ...address(this.#proxy),
      method: "CONNECT",
      path: authority,
      headers: { host: authority, ...authorization(this.#proxy) },
      agent: false,
    });
    asked.on("error", done);
    asked.on("connect", (response, socket) => {
      if (response.statusCode === 200) return done(null, tlsConnect({ ...options, socket }));
      socket.destroy();
      done(new Error(`the proxy ${this.#proxy.host} answered ${response.statusCode} to CONNECT`));
    });
    asked.end();
  }
}
