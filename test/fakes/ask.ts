/** One request to a backend, to its end or its error, sorted by kind of event. */
import {
  type Backend,
  BackendError,
  type Message,
  type Params,
  type StreamEvent,
  type ToolSchema,
} from "../../plugins/backends/types.ts";

export const hello: Message[] = [{ role: "user", content: "hello" }];
export const readTool: ToolSchema = {
  name: "file_read",
  description: "reads a file",
  parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
};

export interface Outcome {
  events: StreamEvent[];
  text: string;
  reasoning: string;
  calls: Extract<StreamEvent, { type: "call" }>[];
  blocks: Extract<StreamEvent, { type: "reasoning-block" }>["block"][];
  warnings: string[];
  done: Extract<StreamEvent, { type: "done" }> | undefined;
  usage: Extract<StreamEvent, { type: "usage" }>["usage"] | undefined;
  error: unknown;
}

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
  return {
    events,
    text: of("text")
      .map(({ text }) => text)
      .join(""),
    reasoning: of("reasoning")
      .map(({ text }) => text)
      .join(""),
    calls: of("call"),
    blocks: of("reasoning-block").map(({ block }) => block),
    warnings: of("warning").map(({ text }) => text),
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

/** The history after a reply whose calls got `results`, as the agent keeps it. */
export function after(messages: readonly Message[], outcome: Outcome, results: string[]): Message[] {
  const toolCalls = outcome.calls.map(({ id, name, args, extra }) => ({
    id,
    name,
    args: JSON.parse(args) as Record<string, unknown>,
    ...(extra ? { extra } : {}),
  }));
  return [
    ...messages,
    {
      role: "assistant",
      content: outcome.text,
      ...(toolCalls.length > 0 ? { toolCalls } : {}),
      ...(outcome.blocks.length > 0 ? { reasoning: outcome.blocks } : {}),
    },
    ...toolCalls.map(
      ({ id, name }, at): Message => ({ role: "tool", toolCallId: id, name, content: results[at] ?? "ok" }),
    ),
  ];
}
