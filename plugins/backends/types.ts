/** What others may import of plugin backends: the contract of a model provider. */
import { token } from "#core";

export { behind } from "./behind.ts";
export { type CatalogRow, catalogCache, fetchCatalog } from "./catalog.ts";
export { BackendError, type BackendErrorKind } from "./error.ts";
export { type Exchange, exchange, exchangeJson } from "./exchange.ts";
export { type Failures, failures } from "./failures.ts";
export { bodyBytes, type HttpOptions, type ProviderFetch, providerFetch } from "./http.ts";
export { legalHistory, type Rules } from "./legal.ts";
export { type ReplyReader, replyEvents } from "./reply-events.ts";
export { type Made, type Sessions, sharedSessions, withSession } from "./sessions.ts";
export { type ServerEvent, type SseParser, sseParser } from "./sse.ts";
export { bodyText, isJson, jsonOf, sseBatches } from "./sse-body.ts";
export { withTextCalls } from "./textcalls.ts";

/** Opaque to all but the backend that made it: sent back unchanged, in place (thinking blocks, signatures). */
export interface ReasoningBlock {
  provider: string;
  text: string;
  signature?: string;
  /** Provider's own form, where text and signature do not say it all. */
  data?: unknown;
}

export interface ToolCall {
  id: string;
  name: string;
  /** Always an object; `{}` where the model's text was broken (then the result says so). */
  args: Record<string, unknown>;
  /** Provider's own marks on this call (a thought signature), sent back unchanged. */
  extra?: Record<string, unknown>;
}

export type Message =
  | { role: "system"; content: string }
  | { role: "user"; content: string }
  | { role: "assistant"; content: string; toolCalls?: ToolCall[]; reasoning?: ReasoningBlock[] }
  | { role: "tool"; toolCallId: string; name: string; content: string; isError?: boolean };

export interface ToolSchema {
  name: string;
  description: string;
  /** JSON Schema of an object. */
  parameters: Record<string, unknown>;
}

/** Generation parameters, as in agent configs (facts: agent config JSON). Unset ones are not sent. */
export interface Params {
  maxTokens?: number;
  maxCompletionTokens?: number;
  temperature?: number;
  topP?: number;
  topK?: number;
  minP?: number;
  topA?: number;
  frequencyPenalty?: number;
  presencePenalty?: number;
  repetitionPenalty?: number;
  /** Thinking budget in tokens; 0 is off. */
  reasoning?: number;
  reasoningEffort?: string;
  includeReasoning?: boolean;
  responseFormat?: string;
  stop?: string[];
}

export interface Usage {
  /** Tokens sent, cached ones included. */
  input: number;
  cachedInput?: number;
  cacheCreation?: number;
  output: number;
  /** Of `output`. */
  reasoning?: number;
  /** Only where the provider says so. */
  costUSD?: number;
  /** True where the provider gave no numbers and these are counted from characters. */
  estimated?: boolean;
}

/** `tool_calls` and `stop` are both normal ends: complete calls decide, not the label. */
export type StopReason = "stop" | "tool_calls" | "length" | "content_filter" | "other";

export type StreamEvent =
  | { type: "text"; text: string }
  | { type: "reasoning"; text: string }
  /** A finished block that must be sent back with the history. */
  | { type: "reasoning-block"; block: ReasoningBlock }
  /**
   * A call. `args` is the model's own text, not parsed; id is unique in the reply, minted where the provider gives none.
   * `cut`: the reply ended (output limit, content filter) before the call was known to be whole: it must not run, even
   * where `args` parses.
   */
  | { type: "call"; id: string; name: string; args: string; extra?: Record<string, unknown>; cut?: true }
  /** Something came of which nothing can be given out yet (a part of a call, a sign of life): the provider is not silent. */
  | { type: "progress" }
  /** What a person should know of a reply that goes on (the server cut the prompt): one sentence. */
  | { type: "warning"; text: string }
  | { type: "usage"; usage: Usage }
  /** Always the last event of a reply that ended properly. A stream that ends without it broke. */
  | { type: "done"; stop: StopReason; raw?: string };

export interface Backend {
  /** Registered name: `openai`, `script`. */
  readonly name: string;
  readonly model: string;
  setModel(model: string): void;
  /**
   * One reply. Throws BackendError, from the call or in mid-stream; when `signal` aborts it throws that reason.
   * Never retries by itself: the loop owns retries.
   */
  chatStream(
    messages: readonly Message[],
    tools: readonly ToolSchema[],
    params: Params,
    signal: AbortSignal,
  ): AsyncIterable<StreamEvent>;
  /** Tokens; undefined where unknown. Has its own time limit, never throws. */
  contextLength(): Promise<number | undefined>;
  /** Sorted names. Throws BackendError where the provider can not be asked. */
  models(signal?: AbortSignal): Promise<string[]>;
}

/** How a backend plugin offers itself. */
export interface BackendFactory {
  readonly name: string;
  readonly aliases?: readonly string[];
  /**
   * Names of environment variables that hold its credentials: never given to a tool. What is kept from tools goes by the
   * name, so one that does not end in _KEY, _TOKEN or _SECRET is refused by `register`.
   */
  readonly credentials: readonly string[];
  /** Whether it can be used now, and one line why (not): shown by `backends`. Quick, never throws. */
  available(): Promise<{ ok: boolean; why: string }>;
  /**
   * Used where neither the agent nor OLLIE_MODEL names a model. Undefined: the one of data/models.yaml. Empty: there is
   * none, a model must be named.
   */
  readonly defaultModel: string | undefined;
  /** Does not check credentials: `chatStream` does, so that an agent can wait for a key. Without a model it serves `models`. */
  create(options: { model?: string }): Backend | Promise<Backend>;
  /** Why it can not serve `model`, where that is known without asking anybody: asked when an agent is made with that model. */
  refuses?(model: string): Promise<string | undefined>;
}

export interface Choice {
  name: string;
  /** `OLLIE_BACKEND`, `OPENAI_API_KEY is set`, `no key and no Ollama: the offline script`. */
  why: string;
}

/** What the tables say of a model, which its provider may know better. */
export interface ModelFacts {
  /** Tokens. */
  context?: number;
  /** USD per million tokens; 0 where it is free, undefined where it is not known. */
  input?: number;
  output?: number;
}

export interface Backends {
  /** Throws OllieError: its name is taken, or a credential's name would not keep it from tools. */
  register(factory: BackendFactory): () => void;
  names(): string[];
  /** The backend for agents that name none. Throws NineError where OLLIE_BACKEND names an unknown one. */
  choose(): Promise<Choice>;
  /** Throws NineError with one sentence for an unknown name or a missing model; with `check`, also for a model that the backend refuses. */
  create(options: { backend?: string; model?: string; check?: boolean }): Promise<Backend>;
  /** Models of one backend, or of all; cached; a failing backend gives its reason in place of names. */
  models(backend?: string): Promise<{ backend: string; models: string[]; error?: string }[]>;
  /** Asks nobody: window and price as data/models.yaml and the user's own tell. */
  about(backend: string, model: string): Promise<ModelFacts>;
  invalidate(): void;
}

export const Backends = token<Backends>("backends");
