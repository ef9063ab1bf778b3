/** A model of the test's own: replies in order, strict about what it is sent. */
import { type Backend, BackendError, type Message, type StreamEvent, type ToolSchema } from "#plugins/backends";

export interface Request {
  messages: Message[];
  tools: ToolSchema[];
  signal: AbortSignal;
}

/** Events of a reply; `wait` holds the stream until the promise settles. */
export type Step = StreamEvent | { type: "wait"; until: Promise<unknown> } | Error;
export type Reply = Step[] | ((request: Request) => Step[] | AsyncIterable<StreamEvent>);

let minted = 0;
export const text = (content: string): StreamEvent => ({ type: "text", text: content });
export const call = (name: string, args: unknown = {}, id = `id${++minted}`): StreamEvent => ({
  type: "call",
  id,
  name,
  args: typeof args === "string" ? args : JSON.stringify(args),
});
export const done = (stop: Extract<StreamEvent, { type: "done" }>["stop"] = "stop", raw?: string): StreamEvent => ({
  type: "done",
  stop,
  ...(raw === undefined ? {} : { raw }),
});
/** A whole reply of one text. */
export const say = (content: string): Step[] => [text(content), done()];
/** A whole reply of calls. */
export const calls = (...events: StreamEvent[]): Step[] => [...events, done("tool_calls")];
export const hang = (): Step => ({ type: "wait", until: new Promise(() => {}) });

export interface Model {
  readonly requests: Request[];
  /** What a strict provider would have refused. */
  readonly complaints: string[];
  replies: Reply[];
  /** Tokens. */
  window: number;
  backend(model: string): Backend;
}

export function scriptedModel(): Model {
  const self: Model = { requests: [], complaints: [], replies: [], window: 1000, backend };
  function backend(initial: string): Backend {
    let model = initial;
    return {
      name: "fake",
      get model() {
        return model;
      },
      setModel(name) {
        model = name;
      },
      contextLength: async () => self.window,
      models: async () => ["big", "small"],
      chatStream: (messages, tools, _params, signal) => stream({ messages: [...messages], tools: [...tools], signal }),
    };
  }
  async function* stream(request: Request): AsyncGenerator<StreamEvent> {
    self.requests.push(structuredClone({ ...request, signal: undefined }) as unknown as Request);
    const wrong = complaint(request.messages);
    if (wrong) self.complaints.push(wrong);
    const next = self.replies.shift();
    if (!next) throw new BackendError("badRequest", "the test's model has no reply left");
    const steps = typeof next === "function" ? next(request) : next;
    for await (const step of steps) {
      if (step instanceof Error) throw step;
      if (step.type !== "wait") {
        yield step;
        continue;
      }
      await Promise.race([
        step.until,
        new Promise((_, reject) => request.signal.addEventListener("abort", () => reject(request.signal.reason))),
      ]);
    }
  }
  return self;
}

/** The first thing that a strict provider would refuse. */
export function complaint(messages: readonly Message[]): string | undefined {
  const ids = new Set<string>();
  let open: string[] = [];
  for (const [i, message] of messages.entries()) {
    if (message.role === "tool") {
      if (open[0] !== message.toolCallId) return `message ${i}: a result of ${message.toolCallId}, not of ${open[0]}`;
      open = open.slice(1);
      if (message.content.trim() === "") return `message ${i}: a blank result`;
      continue;
    }
    if (open.length > 0) return `message ${i}: calls without a result: ${open}`;
    if (message.role !== "assistant") {
      if (message.content.trim() === "") return `message ${i}: blank`;
      continue;
    }
    if (message.content.trim() === "" && message.content !== "") return `message ${i}: white space only`;
    if (message.content === "" && !message.toolCalls?.length) return `message ${i}: an empty reply`;
    for (const { id, args, name } of message.toolCalls ?? []) {
      if (ids.has(id)) return `message ${i}: call id ${id} twice`;
      if (typeof args !== "object" || args === null || Array.isArray(args)) return `message ${i}: arguments no object`;
      if (!/^[\w-]{1,64}$/.test(name)) return `message ${i}: a call has the illegal name ${JSON.stringify(name)}`;
      ids.add(id);
    }
    open = (message.toolCalls ?? []).map(({ id }) => id);
  }
  return open.length > 0 ? `calls without a result at the end: ${open}` : undefined;
}
