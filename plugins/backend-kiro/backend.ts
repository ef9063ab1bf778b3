/** The backend `kiro`: Amazon's CodeWhisperer service, with the login of kiro-cli. */
import {
  type Backend,
  BackendError,
  bodyBytes,
  bodyText,
  type Exchange,
  exchange,
  exchangeJson,
  failures,
  type Made,
  type ProviderFetch,
  providerFetch,
  replyEvents,
  type StreamEvent,
  sharedSessions,
  withSession,
} from "#plugins/backends";
import { refusal } from "./errors.ts";
import { frameBatches } from "./frames.ts";
import { type LoginUrls, readLogin } from "./login.ts";
import { reply } from "./reply.ts";
import { bodyOf, modelId } from "./request.ts";
import { type Source, sourceOf } from "./settings.ts";

export interface KiroOptions extends LoginUrls {
  /** Base URL of the service; OLLIE_KIRO_URL wins. Default: that of the account's region. */
  url?: string | undefined;
  /** Milliseconds without a byte that mean that the server is gone. Default 120,000. */
  idle?: number | undefined;
  env?: NodeJS.ProcessEnv | undefined;
  fetch?: ProviderFetch | undefined;
}

interface Session {
  token: string;
  url: string;
  profileArn: string | undefined;
}

/** Milliseconds before its end at which a token is renewed. */
const ahead = 2 * 60_000;

/** All of one process: they share the token. */
export function kiroBackends(options: KiroOptions): (model: string) => Backend {
  const env = options.env ?? process.env;
  const fetch = options.fetch ?? providerFetch({ idle: options.idle, env });
  const sessions = sharedSessions<Session>();
  const never = new AbortController().signal;
  /** The last one that the server refused: the file may hold it still. */
  let refused: string | undefined;
  let windows: Promise<Map<string, number | undefined>> | undefined;

  async function make(source: Source): Promise<Made<Session>> {
    const url = (env.OLLIE_KIRO_URL || options.url)?.replace(/\/+$/, "");
    if ("token" in source) {
      if (!url) throw new BackendError("badRequest", "kiro: a token of its own needs OLLIE_KIRO_URL, which is not set");
      return { session: { token: source.token, url, profileArn: undefined }, life: Number.POSITIVE_INFINITY };
    }
    let login = await readLogin(source.file, fetch, options);
    const left = () => (login.expires === undefined ? ahead + 60_000 : login.expires - Date.now());
    if (login.token === "" || login.token === refused || left() < ahead) login = await login.renew();
    const session = {
      token: login.token,
      url: url ?? `https://q.${login.region}.amazonaws.com`,
      profileArn: login.profileArn,
    };
    return { session, life: Math.max(left() - ahead, 0) };
  }

  function withToken<T>(signal: AbortSignal, work: (session: Session) => AsyncIterable<T>): AsyncGenerator<T> {
    const get = async () => {
      const source = sourceOf(env);
      if ("missing" in source) throw new BackendError("auth", `kiro: ${source.missing}`);
      return sessions.get(JSON.stringify([source, env.OLLIE_KIRO_URL]), () => make(source), signal);
    };
    const drop = (session: Session) => {
      refused = session.token;
      sessions.drop(session);
    };
    // A token that somebody set can not be renewed.
    const renewable = (error: unknown) => isRefused(error) && "file" in sourceOf(env);
    return withSession(get, drop, renewable, work);
  }

  /** The request of an operation of the service. */
  function request({ token, url }: Session, target: string, body: string, signal: AbortSignal): Exchange {
    const fail = failures("kiro", token);
    const headers = {
      authorization: `Bearer ${token}`,
      "content-type": "application/x-amz-json-1.0",
      "x-amz-target": target,
      "user-agent": "ollie/0.1.0",
    };
    const open = (stop: AbortSignal) => fetch(`${url}/`, { method: "POST", headers, body, signal: stop });
    return { open, url, signal, fail, refusal: (status, head, text) => refusal(fail, status, head, text) };
  }

  async function list(signal: AbortSignal): Promise<Map<string, number | undefined>> {
    const asked = withToken(signal, async function* (session) {
      const body = JSON.stringify({
        origin: "KIRO_CLI",
        ...(session.profileArn ? { profileArn: session.profileArn } : {}),
      });
      yield await exchangeJson(request(session, "AmazonCodeWhispererService.ListAvailableModels", body, signal));
    });
    for await (const answer of asked) return modelsOf(answer);
    return new Map();
  }

  return (initial) => {
    let model = initial;
    return {
      name: "kiro",
      get model() {
        return model;
      },
      setModel(name) {
        model = name;
      },
      chatStream: (messages, tools, _params, signal) =>
        withToken(signal, (session) => {
          const body = JSON.stringify(bodyOf(model, messages, tools, session.profileArn));
          const target = "AmazonCodeWhispererStreamingService.GenerateAssistantResponse";
          return chat(request(session, target, body, signal), body.length);
        }),
      async contextLength() {
        try {
          windows ??= list(never);
          return (await windows).get(modelId(model)) ?? (await windows).get("");
        } catch {
          windows = undefined;
          return undefined; // unknown; the reason is shown by `models`
        }
      },
      models: async (signal = never) => [...(await list(signal)).keys()].filter((name) => name !== "").sort(),
    };
  };
}

function chat(request: Exchange, sent: number): AsyncIterable<StreamEvent> {
  return exchange(request, async function* (answer) {
    const { fail } = request;
    if (/^(text\/|application\/json)/.test(answer.headers.get("content-type") ?? "")) {
      const { text } = await bodyText(answer, 64 * 1024);
      throw text.trim() === "" ? fail.broken("the answer is empty") : fail.noReply(text);
    }
    const made = reply(fail);
    yield* replyEvents(frameBatches(bodyBytes(answer)), made);
    yield* made.end(sent);
  });
}

/** Names and windows; the one without a name is the default model's. */
function modelsOf(answer: unknown): Map<string, number | undefined> {
  const { models, defaultModel } = (answer ?? {}) as { models?: unknown; defaultModel?: unknown };
  const made = new Map<string, number | undefined>();
  const window = (row: unknown) => {
    const tokens = Number((row as { tokenLimits?: { maxInputTokens?: unknown } } | null)?.tokenLimits?.maxInputTokens);
    return Number.isInteger(tokens) && tokens > 0 ? tokens : undefined;
  };
  for (const row of Array.isArray(models) ? models : []) {
    const id = (row as { modelId?: unknown } | null)?.modelId;
    if (typeof id === "string" && id !== "") made.set(id, window(row));
  }
  made.set("", window(defaultModel));
  return made;
}

const isRefused = (error: unknown): boolean =>
  error instanceof BackendError && error.kind === "auth" && (error.status === 401 || error.status === 403);
