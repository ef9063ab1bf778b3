/** The backend `copilot`: Chat Completions with a token that lasts half an hour. */

import { chatCompletions } from "#plugins/backend-openai";
import {
  type Backend,
  BackendError,
  failures,
  type ProviderFetch,
  providerFetch,
  sharedSessions,
  withSession,
} from "#plugins/backends";
import { fetchModels } from "./catalog.ts";
import { chatHeaders, initiator } from "./headers.ts";
import { usable } from "./settings.ts";
import { makeSession, type Session } from "./tokens.ts";

export interface CopilotOptions {
  /** Milliseconds without a byte that mean that the server is gone. Default 120,000. */
  idle?: number | undefined;
  env?: NodeJS.ProcessEnv | undefined;
  fetch?: ProviderFetch | undefined;
}

/** All of one process: they share the token. */
export function copilotBackends(options: CopilotOptions): (model: string) => Backend {
  const env = options.env ?? process.env;
  const fetch = options.fetch ?? providerFetch({ idle: options.idle, env });
  const sessions = sharedSessions<Session>();
  const windows = new Map<string, Promise<Map<string, number | undefined>>>();
  const never = new AbortController().signal;

  function withToken<T>(signal: AbortSignal, work: (session: Session) => AsyncIterable<T>): AsyncGenerator<T> {
    const get = async () => {
      const now = usable(env);
      return sessions.get(`${now.github} ${now.token} ${now.url}`, () => makeSession(now, fetch), signal);
    };
    return withSession(get, sessions.drop, isRefused, work);
  }

  async function list(signal: AbortSignal): Promise<Map<string, number | undefined>> {
    const asked = withToken(signal, async function* (session) {
      yield await fetchModels(session, fetch, signal);
    });
    for await (const models of asked) return models;
    return new Map();
  }

  return (initial) => {
    let model = initial;
    return {
      name: "copilot",
      get model() {
        return model;
      },
      setModel(name) {
        model = name;
      },
      chatStream: (messages, tools, params, signal) =>
        withToken(signal, ({ token, url }) =>
          chatCompletions({
            baseURL: url,
            fetch: (to, init) => fetch(to, { ...init, headers: merged(init, token, messages) }),
            fail: failures("copilot", token),
            ...{ model, messages, tools, params, signal },
          }),
        ),
      async contextLength() {
        try {
          const { token } = usable(env);
          const known = windows.get(token) ?? list(never);
          windows.set(token, known);
          known.catch(() => windows.delete(token));
          return (await known).get(model);
        } catch {
          return undefined; // unknown; the reason is shown by `models`
        }
      },
      models: async (signal = never) => [...(await list(signal)).keys()],
    };
  };
}

const isRefused = (error: unknown): boolean => error instanceof BackendError && error.status === 401;

function merged(init: RequestInit | undefined, token: string, messages: Parameters<typeof initiator>[0]) {
  const made = Object.fromEntries(new Headers(init?.headers));
  return { ...made, ...chatHeaders(token), ...initiator(messages) };
}
