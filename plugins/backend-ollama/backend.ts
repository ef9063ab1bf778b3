/** The backend `ollama`: a server on this machine or another, over its own protocol. */
import {
  type Backend,
  bodyBytes,
  exchange,
  exchangeJson,
  type Failures,
  failures,
  type ProviderFetch,
  providerFetch,
  replyEvents,
  type StreamEvent,
  withTextCalls,
} from "#plugins/backends";
import { getLoaded, getModels, postChat, postShow } from "./client.ts";
import { lineBatches } from "./lines.ts";
import { reply } from "./reply.ts";
import { bodyOf } from "./request.ts";
import { type Settings, settings } from "./settings.ts";
import { factsOf, loadedWindow, type ModelFacts, usual, windowOf } from "./window.ts";

export interface OllamaOptions {
  /** Base URL; OLLIE_OLLAMA_URL wins. Default http://127.0.0.1:11434. */
  url?: string | undefined;
  /** Tokens of the window (num_ctx); OLLIE_OLLAMA_CONTEXT wins. Default: what the Modelfile asks for, else 32,768. */
  context?: number | undefined;
  /** Milliseconds without a byte that mean that the server is gone. Default 300,000: it loads models. */
  idle?: number | undefined;
  env?: NodeJS.ProcessEnv | undefined;
  fetch?: ProviderFetch | undefined;
}

/** Milliseconds: the longest that a question about a model takes, and how long its answer is kept. */
const limit = 3_000;
const keep = 5 * 60_000;

/** All of one process: they share what is known of models. */
export function ollamaBackends(options: OllamaOptions): (model: string) => Backend {
  const env = options.env ?? process.env;
  const fetch = options.fetch ?? providerFetch({ idle: options.idle ?? 300_000, env });
  const known = new Map<string, { facts: Promise<ModelFacts>; until: number }>();

  const json = (now: Settings, signal: AbortSignal, open: (signal: AbortSignal) => Promise<Response>) =>
    exchangeJson({ open, url: now.url, signal, fail: failures("ollama", now.key) }, limit);

  function factsFor(now: Settings, model: string, signal: AbortSignal): Promise<ModelFacts> {
    const id = `${now.url} ${model}`;
    const old = known.get(id);
    if (old && performance.now() < old.until) return old.facts;
    const facts = json(now, signal, (stop) => postShow(now, fetch, stop, model)).then(factsOf);
    known.set(id, { facts, until: performance.now() + keep });
    facts.catch(() => known.delete(id));
    return facts;
  }

  /** What is known of a model, and its window. A server that does not tell is no reason to fail: the chat will say. */
  async function learn(now: Settings, model: string, signal: AbortSignal) {
    const facts = await factsFor(now, model, signal).catch((): ModelFacts => ({}));
    const chosen = Number(env.OLLIE_OLLAMA_CONTEXT) || options.context;
    // What runs in a cloud has its whole window.
    if (chosen === undefined && (/[:-]cloud$/.test(model) || new URL(now.url).hostname === "ollama.com"))
      return { facts, window: facts.most ?? usual };
    const loaded =
      chosen === undefined && facts.asked === undefined
        ? await json(now, signal, (stop) => getLoaded(now, fetch, stop)).catch(() => undefined)
        : undefined;
    return { facts, window: windowOf(facts, loadedWindow(loaded, model), chosen) };
  }

  return (initial) => {
    let model = initial;
    /** The window of which it was said that it is not had: once is enough. */
    let warned: number | undefined;
    return {
      name: "ollama",
      get model() {
        return model;
      },
      setModel(name) {
        model = name;
      },
      async *chatStream(messages, tools, params, signal) {
        signal.throwIfAborted();
        const now = settings(env, options.url);
        const { facts, window } = await learn(now, model, signal);
        signal.throwIfAborted();
        const body = bodyOf(model, messages, tools, params, facts, window);
        const fail = failures("ollama", now.key);
        const sent = JSON.stringify(body).length;
        const events = exchange(
          { open: (stop) => postChat(now, fetch, stop, body), url: now.url, signal, fail },
          (answer) => read(answer, fail, sent, window),
        );
        for await (const event of tools.length > 0 ? withTextCalls(events, tools, messages) : events) {
          if (event.type === "warning") {
            if (warned === window) continue;
            warned = window;
          }
          yield event;
        }
      },
      async contextLength() {
        try {
          return (await learn(settings(env, options.url), model, new AbortController().signal)).window;
        } catch {
          return undefined;
        }
      },
      async models(signal = new AbortController().signal) {
        const now = settings(env, options.url);
        const answer = await json(now, signal, (stop) => getModels(now, fetch, stop));
        const { models } = (answer ?? {}) as { models?: ({ name?: unknown } | null)[] };
        if (!Array.isArray(models)) throw failures("ollama", now.key).noReply(JSON.stringify(answer));
        const names = models.flatMap((row) => (typeof row?.name === "string" && row.name !== "" ? [row.name] : []));
        return [...new Set(names)].sort();
      },
    };
  };
}

async function* read(answer: Response, fail: Failures, sent: number, window: number): AsyncGenerator<StreamEvent> {
  const made = reply(fail, sent, window);
  yield* replyEvents(lineBatches(bodyBytes(answer)), {
    take: (line) => made.take(parsed(line, fail)),
    get over() {
      return made.over;
    },
  });
  yield* made.end();
}

function parsed(line: string, fail: Failures): unknown {
  try {
    return JSON.parse(line);
  } catch {
    if (line.trimStart().startsWith("<")) throw fail.noReply(line);
    throw fail.broken(`the stream is broken: not JSON: ${line.slice(0, 80)}`);
  }
}
