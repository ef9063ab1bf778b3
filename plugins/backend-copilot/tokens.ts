/** Copilot's own token: short-lived, made from the account's. */
import { BackendError, exchangeJson, failures, type Made, type ProviderFetch } from "#plugins/backends";
import { editor } from "./headers.ts";
import type { Settings } from "./settings.ts";

export interface Session {
  token: string;
  /** Where Copilot is for this account, with no slash at the end. */
  url: string;
}

const standard = "https://api.githubcopilot.com";

/** Milliseconds that an exchange may take. */
const limit = 15_000;

/** Throws BackendError. A token of Copilot's own is taken as it is. */
export async function makeSession(settings: Settings, fetch: ProviderFetch): Promise<Made<Session>> {
  const { github, token, url: own } = settings;
  if (isSession(token)) return { session: { token, url: own ?? standard }, life: Number.POSITIVE_INFINITY };
  const url = `${github}/copilot_internal/v2/token`;
  const headers = { ...editor, authorization: `token ${token}`, accept: "application/json" };
  const answer = await exchangeJson(
    {
      open: (signal) => fetch(url, { headers, signal }),
      url,
      signal: new AbortController().signal,
      fail: failures("copilot", token),
    },
    limit,
  );
  const { token: made, expires_at, refresh_in, endpoints } = (answer ?? {}) as Record<string, unknown>;
  if (typeof made !== "string" || made === "")
    throw new BackendError("auth", "copilot: the account's token was taken, but no token for Copilot came back");
  const spans = [Number(refresh_in) * 1000, Number(expires_at) * 1000 - Date.now()].filter((ms) => ms > 0);
  const api = (endpoints as { api?: unknown } | undefined)?.api;
  const session = { token: made, url: own ?? (typeof api === "string" ? api.replace(/\/+$/, "") : standard) };
  return { session, life: 0.9 * (spans.length > 0 ? Math.min(...spans) : 25 * 60_000) };
}

/** Copilot's own tokens are lists of fields; the account's are one word. */
const isSession = (token: string) => /(^|;)(tid|exp)=/.test(token);
