/** Logins of kiro-cli: which there are, and how their tokens are renewed. */
import { BackendError, exchangeJson, failures, type ProviderFetch } from "#plugins/backends";
import { readValues, replaceValue } from "./database.ts";

export interface Login {
  token: string;
  refresh: string;
  /** Milliseconds since 1970; undefined: not said. */
  expires: number | undefined;
  region: string;
  profileArn: string | undefined;
  /** Renews the token, here and in the file. Throws BackendError. */
  renew(): Promise<Login>;
}

/** Where tokens are renewed; for tests. */
export interface LoginUrls {
  /** Of accounts of an organisation or of AWS. */
  oidc?: string | undefined;
  /** Of accounts of Google and GitHub. */
  social?: string | undefined;
}

const organisation = "kirocli:odic:token"; // sic
const device = "kirocli:odic:device-registration";
const social = "kirocli:social:token";

/** The login in `file`. Throws BackendError `auth` where there is none. */
export async function readLogin(file: string, fetch: ProviderFetch, urls: LoginUrls): Promise<Login> {
  const rows = await readValues(file, "auth_kv", [organisation, device, social]);
  const key = rows.has(organisation) && rows.has(device) ? organisation : social;
  const row = rows.get(key);
  if (row === undefined) throw new BackendError("auth", `kiro: ${file} holds no login (run kiro-cli login)`);
  const saved = record(row);
  const client = record(rows.get(device));
  const region = text(saved.region) || "us-east-1";
  const isSocial = key === social;
  const arn = isSocial ? text(saved.profile_arn) : await profileOf(file);
  const login: Login = {
    token: text(saved.access_token),
    refresh: text(saved.refresh_token),
    expires: Date.parse(text(saved.expires_at)) || undefined,
    region: arn?.split(":")[3] || region,
    // Social accounts have one, but a request that names it is refused.
    profileArn: isSocial ? undefined : arn || undefined,
    async renew() {
      const body = isSocial
        ? { refreshToken: login.refresh }
        : {
            grantType: "refresh_token",
            refreshToken: login.refresh,
            clientId: text(client.client_id),
            clientSecret: text(client.client_secret),
          };
      const url = isSocial
        ? (urls.social ?? "https://prod.us-east-1.auth.desktop.kiro.dev/refreshToken")
        : (urls.oidc ?? `https://oidc.${region}.amazonaws.com/token`);
      const { accessToken, refreshToken, expiresIn } = await renewed(url, body, login.refresh, fetch);
      const expires = Date.now() + expiresIn * 1000;
      const after = {
        ...saved,
        access_token: accessToken,
        refresh_token: refreshToken ?? login.refresh,
        expires_at: new Date(expires).toISOString(),
      };
      await replaceValue(file, key, row, JSON.stringify(after));
      return { ...login, token: accessToken, refresh: after.refresh_token, expires };
    },
  };
  return login;
}

async function renewed(url: string, body: object, secret: string, fetch: ProviderFetch) {
  const fail = failures("kiro", secret);
  const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const open = (signal: AbortSignal) => fetch(url, { ...init, signal });
  const refusal = (status: number, headers: Headers, words: string) => {
    const plain = fail.status(status, headers, words);
    // An old refresh token is a bad request there; what helps is to log in again.
    if (status !== 400 && status !== 401 && status !== 403) return plain;
    return new BackendError("auth", `${plain.message} (run kiro-cli login)`, { status });
  };
  const answer = await exchangeJson({ open, url, signal: new AbortController().signal, fail, refusal }, 15_000);
  const { accessToken, refreshToken, expiresIn } = (answer ?? {}) as Record<string, unknown>;
  if (typeof accessToken !== "string" || accessToken === "")
    throw new BackendError("auth", "kiro: the login was taken, but no token came back");
  return {
    accessToken,
    refreshToken: typeof refreshToken === "string" ? refreshToken : undefined,
    expiresIn: Number(expiresIn) > 0 ? Number(expiresIn) : 3_600,
  };
}

/** The profile that was chosen with kiro-cli; undefined where none was, or where the file is of an older one. */
async function profileOf(file: string): Promise<string | undefined> {
  const key = "api.codewhisperer.profile";
  const rows = await readValues(file, "state", [key]).catch(() => new Map<string, string>());
  return text(record(rows.get(key)).arn) || undefined;
}

function record(json: string | undefined): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(json ?? "{}");
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

const text = (value: unknown): string => (typeof value === "string" ? value.trim() : "");
