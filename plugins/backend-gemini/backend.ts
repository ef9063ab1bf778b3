/** The backend `gemini`, over the public REST API: the official package does not run on Node 20. */
import {
  type Backend,
  type Exchange,
  exchange,
  exchangeJson,
  type Failures,
  failures,
  jsonOf,
  type ProviderFetch,
  providerFetch,
  replyEvents,
  type ServerEvent,
  type StreamEvent,
  sseBatches,
} from "#plugins/backends";
import { refusal } from "./errors.ts";
import { reply } from "./reply.ts";
import { bodyOf } from "./request.ts";
import { type Settings, usable } from "./settings.ts";
import type { Chunk } from "./wire.ts";

export interface GeminiOptions {
  /** Base URL; OLLIE_GEMINI_URL wins. Default: the provider's. */
  url?: string | undefined;
  /** Milliseconds without a byte that mean that the server is gone. Default 120,000. */
  idle?: number | undefined;
  env?: NodeJS.ProcessEnv | undefined;
  fetch?: ProviderFetch | undefined;
}

/** All of one process: they share the lists of models. */
export function geminiBackends(options: GeminiOptions): (model: string) => Backend {
  const env = options.env ?? process.env;
  const fetch = options.fetch ?? providerFetch({ idle: options.idle, env });
  const windows = new Map<string, Promise<Map<string, number | undefined>>>();

  return (initial) => {
    let model = initial;
    return {
      name: "gemini",
      get model() {
        return model;
      },
      setModel(name) {
        model = name;
      },
      chatStream(messages, tools, params, signal) {
        return chat(usable(env, options.url), fetch, model, bodyOf(model, messages, tools, params), signal);
      },
      async contextLength() {
        try {
          const now = usable(env, options.url);
          const known = windows.get(now.baseURL) ?? list(now, fetch, new AbortController().signal);
          windows.set(now.baseURL, known);
          known.catch(() => windows.delete(now.baseURL));
          return (await known).get(model);
        } catch {
          return undefined; // unknown; the reason is shown by `models`
        }
      },
      async models(signal = new AbortController().signal) {
        return [...(await list(usable(env, options.url), fetch, signal)).keys()].sort();
      },
    };
  };
}

const headers = (key: string) => ({ "content-type": "application/json", "x-goog-api-key": key });

function chat(
  { baseURL, key }: Settings,
  fetch: ProviderFetch,
  model: string,
  body: Record<string, unknown>,
  signal: AbortSignal,
): AsyncIterable<StreamEvent> {
  const fail = failures("gemini", key);
  const json = JSON.stringify(body);
  const url = `${baseURL}/models/${encodeURIComponent(model)}:streamGenerateContent?alt=sse`;
  const request: Exchange = {
    open: (signal) => fetch(url, { method: "POST", headers: headers(key), body: json, signal }),
    url,
    signal,
    fail,
    refusal: (status, head, text) => refusal(fail, status, head, text),
  };
  return exchange(request, async function* (answer) {
    const made = reply(fail);
    yield* replyEvents(sseBatches(answer, fail), { take: (event) => made.take(chunkOf(event, fail)) });
    yield* made.end(json.length);
  });
}

function chunkOf(event: ServerEvent, fail: Failures): Chunk {
  if (event.event !== "document") return jsonOf(event, fail) as Chunk;
  try {
    const chunk = JSON.parse(event.data) as Chunk;
    if (chunk.error || chunk.candidates || chunk.promptFeedback) return chunk;
  } catch {
    // said below
  }
  throw fail.noReply(event.data);
}

/** Names of models that answer, and their windows in tokens. */
async function list(
  { baseURL, key }: Settings,
  fetch: ProviderFetch,
  signal: AbortSignal,
): Promise<Map<string, number | undefined>> {
  const fail = failures("gemini", key);
  const models = new Map<string, number | undefined>();
  let page = "";
  do {
    const url = `${baseURL}/models?pageSize=1000${page === "" ? "" : `&pageToken=${encodeURIComponent(page)}`}`;
    const answer = await exchangeJson({
      open: (stop) => fetch(url, { headers: headers(key), signal: stop }),
      url,
      signal,
      fail,
    });
    const { models: rows, nextPageToken } = (answer ?? {}) as { models?: unknown; nextPageToken?: unknown };
    if (!Array.isArray(rows)) throw fail.noReply(JSON.stringify(answer));
    for (const row of rows as (Record<string, unknown> | null)[]) {
      const methods = row?.supportedGenerationMethods;
      if (typeof row?.name !== "string" || (Array.isArray(methods) && !methods.includes("generateContent"))) continue;
      const tokens = Number(row.inputTokenLimit);
      models.set(row.name.replace(/^models\//, ""), Number.isInteger(tokens) && tokens > 0 ? tokens : undefined);
    }
    page = typeof nextPageToken === "string" ? nextPageToken : "";
  } while (page !== "" && models.size < 10_000);
  return models;
}
