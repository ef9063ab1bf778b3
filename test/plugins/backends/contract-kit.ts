/** What the parts of the contract share: the terms in which a fake is told what to answer, and one request to its end. */
import {
  type Backend,
  BackendError,
  type BackendErrorKind,
  type Message,
  type StreamEvent,
  type ToolSchema,
} from "../../../plugins/backends/types.ts";

/** A reply in no wire's terms: what it holds, and how it goes wrong. */
export interface Say {
  reasoning?: string;
  text?: string;
  /** `args` as text goes out as it is. */
  calls?: { id?: string; name: string; args: string | object }[];
  /** Default: as the calls demand. */
  stop?: "stop" | "calls" | "length";
  usage?: { fresh: number; cached: number; output: number };
  /** How it ends instead of orderly, behind what was said. `error`: one of the provider's, that says `overloaded`. */
  fault?: "eof" | "reset" | "stall" | "malformed" | "error" | "endless";
  /** One byte per write. */
  oneByte?: boolean;
  crlf?: boolean;
}

export interface ContractFake {
  /** Requests for chat: `raw` is the body, `closed` resolves when the exchange is over (true: the client left early). */
  readonly requests: readonly { raw: string; closed: Promise<boolean> }[];
  /** What a strict provider refused. */
  readonly complaints: readonly string[];
  say(reply: Say): void;
  /** A status with the provider's own error, or with a body as it is. */
  fail(status: number, body: { message: string } | { page: string }, headers?: Record<string, string>): void;
  /** A good status and this body. */
  page(body: string): void;
  /** What the list of models answers: rows of name and context, or a status. */
  models(rows: [name: string, context?: unknown][] | { status: number } | { page: string } | "stall"): void;
  seen(n: number): Promise<{ closed: Promise<boolean> }>;
  close(): Promise<void>;
}

export interface ContractOptions {
  /** The wire has no caching or no ids to test, or the like: names of tests to leave out, with the reason. */
  without?: Record<string, string>;
  /** Milliseconds of silence that count as the end. */
  idle?: number;
  /** The key that the backend is made with; errors are searched for it. */
  key?: string;
}

export const key = "sk-contract-5f1e0c";
export const hello: Message[] = [{ role: "user", content: "hello" }];
const tools: ToolSchema[] = ["shell", "file_read"].map((name) => ({
  name,
  description: "a tool",
  parameters: { type: "object", properties: { path: { type: "string" } } },
}));

export interface Outcome {
  events: StreamEvent[];
  text: string;
  calls: Extract<StreamEvent, { type: "call" }>[];
  stop: string | undefined;
  error: unknown;
}

export async function ask(backend: Backend, messages = hello, signal = new AbortController().signal): Promise<Outcome> {
  const events: StreamEvent[] = [];
  let error: unknown;
  try {
    for await (const event of backend.chatStream(messages, tools, {}, signal)) events.push(event);
  } catch (thrown) {
    error = thrown;
  }
  return {
    events,
    text: events.map((event) => (event.type === "text" ? event.text : "")).join(""),
    calls: events.filter((event) => event.type === "call"),
    stop: events.find((event) => event.type === "done")?.stop,
    error,
  };
}

export const kindOf = ({ error }: Outcome): BackendErrorKind => {
  if (error instanceof BackendError) return error.kind;
  throw new Error(`expected a BackendError, got ${String(error)}`);
};

/** What a part of the contract works with. */
export interface Rig {
  /** A test, unless the backend was let off. */
  check(title: string, run: () => Promise<void>): void;
  /** A fake and a backend that talks to it. */
  setup(): Promise<{ fake: ContractFake; backend: Backend }>;
  /** Milliseconds of silence that count as the end. */
  idle: number;
}
