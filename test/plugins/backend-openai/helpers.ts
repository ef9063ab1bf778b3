/** What the tests of this folder share. */
import { afterEach } from "vitest";
import { openaiBackend } from "../../../plugins/backend-openai/factory.ts";
import {
  type Backend,
  BackendError,
  type Message,
  type Params,
  type StreamEvent,
  type ToolSchema,
} from "../../../plugins/backends/types.ts";
import { type FakeOptions, type OpenAIFake, openaiFake } from "../../fakes/openai.ts";

const open: OpenAIFake[] = [];
afterEach(async () => {
  for (const fake of open.splice(0)) await fake.close();
});

export async function fakeProvider(options?: FakeOptions): Promise<OpenAIFake> {
  const fake = await openaiFake(options);
  open.push(fake);
  return fake;
}

/** A backend that talks to `fake`, in an environment of its own. */
export function backendOf(fake: OpenAIFake, options: { idle?: number; env?: Record<string, string> } = {}): Backend {
  const factory = openaiBackend({ env: { ...fake.env, ...options.env }, idle: options.idle });
  return factory.create({ model: "fake-1" }) as Backend;
}

export const hello: Message[] = [{ role: "user", content: "hello" }];
export const shellTool: ToolSchema = {
  name: "shell",
  description: "runs a command",
  parameters: { type: "object", properties: { command: { type: "string" } } },
};

export interface Outcome {
  events: StreamEvent[];
  text: string;
  reasoning: string;
  calls: Extract<StreamEvent, { type: "call" }>[];
  done: Extract<StreamEvent, { type: "done" }> | undefined;
  usage: Extract<StreamEvent, { type: "usage" }>["usage"] | undefined;
  error: unknown;
}

/** One request to its end, or to its error. */
export async function ask(
  backend: Backend,
  messages: readonly Message[] = hello,
  options: { tools?: ToolSchema[]; params?: Params; signal?: AbortSignal; onEvent?: (event: StreamEvent) => void } = {},
): Promise<Outcome> {
  const events: StreamEvent[] = [];
  let error: unknown;
  const signal = options.signal ?? new AbortController().signal;
  try {
    for await (const event of backend.chatStream(messages, options.tools ?? [], options.params ?? {}, signal)) {
      events.push(event);
      options.onEvent?.(event);
    }
  } catch (thrown) {
    error = thrown;
  }
  const of = <T extends StreamEvent["type"]>(type: T) =>
    events.filter((event): event is Extract<StreamEvent, { type: T }> => event.type === type);
  const join = (type: "text" | "reasoning") =>
    of(type)
      .map((event) => event.text)
      .join("");
  return {
    events,
    text: join("text"),
    reasoning: join("reasoning"),
    calls: of("call"),
    done: of("done")[0],
    usage: of("usage")[0]?.usage,
    error,
  };
}

/** The BackendError of an outcome; fails where there is none. */
export function failure(outcome: Outcome): BackendError {
  if (outcome.error instanceof BackendError) return outcome.error;
  throw new Error(`expected a BackendError, got ${String(outcome.error)}`);
}
