/** Copilot's own token: short-lived, made from the account's, one for all agents. */
import { BackendError, exchangeJson, failures, type ProviderFetch } from "#plugins/backends";
import { editor } from "./headers.ts";
import type { Settings } from "./settings.ts";

export interface Session {
  token: string;
  /** Where Copilot is for this account, with no slash at the end. */
  url: string;
}

export interface Tokens {
  /** One that is good now. Throws BackendError, or the reason of `signal`; the exchange goes on for those who wait too. */
  get(settings: Settings, signal: AbortSignal): Promise<Session>;
  /** The server refused this one: the next `get` makes a new one, unless that has happened. */
  drop(token: string): void;
}

const standard = "https://api.githubcopilot.com";

/** Milliseconds that an exchange may take. */
const limit = 15_000;

/** `now`: a clock that never goes back, in milliseconds. */
export function sharedTokens(fetch: ProviderFetch, now: () => number = () => performance.now()): Tokens {
  let current: { of: string; made: Promise<Session>; until: number; token?: string } | undefined;

  function exchange(settings: Settings, of: string): Promise<Session> {
    const mine: NonNullable<typeof current> = {
      of,
      until: Number.POSITIVE_INFINITY,
      made: ask(settings, fetch).then(({ session, life }) => {
        // A clock that is wrong here does not matter: only spans are used.
        mine.until = now() + life * 0.9;
        mine.token = session.token;
        return session;
      }),
    };
    current = mine;
    mine.made.catch(() => {
      if (current === mine) current = undefined;
    });
    return mine.made;
  }

  return {
    async get(settings, signal) {
      signal.throwIfAborted();
      if (isSession(settings.token)) return { token: settings.token, url: settings.url ?? standard };
      const of = `${settings.github} ${settings.token}`;
      const made = current?.of === of && now() < current.until ? current.made : exchange(settings, of);
      const { token, url } = await untilAbort(made, signal);
      return { token, url: settings.url ?? url };
    },
    drop(token) {
      if (current?.token === token) current = undefined;
    },
  };
}

/** Copilot's own tokens are lists of fields; the account's are one word. */
const isSession = (token: string) => /(^|;)(tid|exp)=/.test(token);

/** `life`: milliseconds that the token is good for. */
async function ask({ github, token }: Settings, fetch: ProviderFetch): Promise<{ session: Session; life: number }> {
  const fail = failures("copilot", token);
  const url = `${github}/copilot_internal/v2/token`;
  const headers = { ...editor, authorization: `token ${token}`, accept: "application/json" };
  const signal = new AbortController().signal;
  const answer = await exchangeJson(
    { open: (stop) => fetch(url, { headers, signal: stop }), url, signal, fail },
    limit,
  );
  const { token: made, expires_at, refresh_in, endpoints } = (answer ?? {}) as Record<string, unknown>;
  if (typeof made !== "string" || made === "")
    throw new BackendError("auth", "copilot: the account's token was taken, but no token for Copilot came back");
  const spans = [Number(refresh_in) * 1000, Number(expires_at) * 1000 - Date.now()].filter((ms) => ms > 0);
  const api = (endpoints as { api?: unknown } | undefined)?.api;
  const session = { token: made, url: typeof api === "string" ? api.replace(/\/+$/, "") : standard };
  return { session, life: spans.length > 0 ? Math.min(...spans) : 25 * 60_000 };
}

/** The result of work that others wait for too. */
function untilAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}
