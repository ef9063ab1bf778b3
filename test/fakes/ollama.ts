/**
 * A strict fake of an Ollama server over real HTTP: NDJSON chats in script order, /api/show, /api/ps, /api/tags.
 *
 *   const fake = await ollamaFake();
 *   fake.reply(say("let me look"), calls({ name: "shell", arguments: { command: "ls" } }));
 *   … run with fake.env …
 *   fake.chats[0].body.messages; fake.complaints; await fake.close();
 */
import { type Answer, bytes, json, type Request, serve } from "./server.ts";
import type { Act } from "./wire.ts";

export type Line = Record<string, unknown>;

/** Text in lines of `size` characters. */
export const say = (content: string, size = 5): Line[] =>
  pieces(content, size).map((piece) => ({ message: { role: "assistant", content: piece }, done: false }));
export const think = (thinking: string): Line[] =>
  pieces(thinking, 5).map((piece) => ({ message: { role: "assistant", content: "", thinking: piece }, done: false }));
export const calls = (...list: { id?: string; name: string; arguments: unknown }[]): Line => ({
  message: {
    role: "assistant",
    content: "",
    tool_calls: list.map(({ id, ...call }) => ({ ...(id ? { id } : {}), function: call })),
  },
  done: false,
});
export const last = (more: Line = {}): Line => ({
  message: { role: "assistant", content: "" },
  done: true,
  done_reason: "stop",
  prompt_eval_count: 100,
  eval_count: 10,
  ...more,
});

const pieces = (text: string, size: number) => {
  const letters = Array.from(text);
  return Array.from({ length: Math.ceil(letters.length / size) }, (_, at) =>
    letters.slice(at * size, (at + 1) * size).join(""),
  );
};

export interface OllamaFakeOptions {
  /** Answer of /api/show. Default: a model that can tools, of 40,960 tokens. */
  show?: unknown;
  /** Rows of /api/ps. */
  loaded?: unknown[];
  /** Names of /api/tags. */
  models?: string[];
  /** Whether to refuse what the server could not use. Default true. */
  strict?: boolean;
}

export interface OllamaFake {
  readonly url: string;
  readonly env: Record<string, string>;
  readonly requests: Request[];
  /** Requests for chat, in order. */
  readonly chats: Request[];
  readonly complaints: string[];
  /** Answers to chats, in order: what `reply` and the others append to. */
  readonly script: Answer[];
  /** What /api/tags and /api/show answer instead. */
  list?: Answer;
  /** Scripts the next reply; a last line is added where there is none. */
  reply(...lines: (Line | Line[])[]): void;
  /** Scripts the next reply, byte by byte. `size`: bytes of one write. */
  exactly(acts: (Act | string)[], size?: number): void;
  error(status: number, body: string | object, headers?: Record<string, string>): void;
  close(): Promise<void>;
}

export async function ollamaFake(options: OllamaFakeOptions = {}): Promise<OllamaFake> {
  const script: Answer[] = [];
  const chats: Request[] = [];
  const complaints: string[] = [];

  const server = await serve((request): Answer => {
    if (self.list && (request.path === "/api/tags" || request.path === "/api/show")) return self.list;
    if (request.path === "/api/show")
      return json(
        options.show ?? {
          model_info: { "general.name": "x", "llama.context_length": 40_960 },
          capabilities: ["tools"],
        },
      );
    if (request.path === "/api/ps") return json({ models: options.loaded ?? [] });
    if (request.path === "/api/tags")
      return json({ models: (options.models ?? ["fake:1b"]).map((name) => ({ name })) });
    if (request.path === "/api/version") return json({ version: "0.0" });
    if (request.path !== "/api/chat") return json({ error: `unknown path ${request.path}` }, 404);
    chats.push(request);
    const wrong = options.strict === false ? undefined : complaint(request.body);
    if (wrong) {
      complaints.push(wrong);
      return json({ error: `strict: ${wrong}` }, 400);
    }
    return script.shift() ?? json({ error: "fake: no reply is scripted" }, 400);
  });

  const self: OllamaFake = {
    script,
    url: server.url,
    env: { OLLIE_BACKEND: "ollama", OLLIE_OLLAMA_URL: server.url, OLLIE_MODEL: "fake:1b" },
    requests: server.requests,
    chats,
    complaints,
    reply(...lines) {
      const all = lines.flat();
      if (!all.some((line) => line.done === true)) all.push(last());
      script.push({ acts: all.map((line) => bytes(`${JSON.stringify({ model: "fake:1b", ...line })}\n`)) });
    },
    exactly: (acts, size) =>
      void script.push({
        acts: acts.map((act) => (typeof act === "string" ? bytes(act) : act)),
        ...(size === undefined ? {} : { size }),
      }),
    error: (status, body, headers) =>
      void script.push(
        typeof body === "string"
          ? { head: { status, headers: headers ?? {} }, acts: [bytes(body)] }
          : json(body, status, headers),
      ),
    close: server.close,
  };
  return self;
}

interface Wire {
  role?: string;
  content?: unknown;
  tool_name?: unknown;
  tool_call_id?: unknown;
  tool_calls?: { id?: unknown; function?: { name?: unknown; arguments?: unknown } }[];
}

/** What could not be used, or would be used wrongly without a word. */
function complaint(body: { stream?: unknown; model?: unknown; messages?: Wire[]; options?: { num_ctx?: unknown } }) {
  if (body?.stream !== true || typeof body.model !== "string") return "no stream of a model is asked for";
  if (!Number.isInteger(body.options?.num_ctx)) return "num_ctx is missing";
  const open: unknown[] = [];
  for (const [at, message] of (body.messages ?? []).entries()) {
    const where = `messages[${at}]`;
    const made = message.tool_calls ?? [];
    if (typeof message.content !== "string") return `${where}: content is no text`;
    if (message.content.trim() === "" && made.length === 0) return `${where}: content is blank`;
    if (message.role === "system" && at > 0) return `${where}: system is not the first`;
    if (message.role === "tool") {
      if (open.shift() !== message.tool_call_id) return `${where}: result without its call, or out of order`;
      if (typeof message.tool_name !== "string") return `${where}: tool_name is missing`;
    } else if (open.length > 0) return `${where}: calls without a result`;
    for (const { id, function: call } of made) {
      if (typeof call?.arguments !== "object" || call.arguments === null || Array.isArray(call.arguments))
        return `${where}: arguments are no object`;
      if (open.includes(id)) return `${where}: call id ${id} is there twice`;
      open.push(id);
    }
  }
  return open.length > 0 ? "calls without a result at the end" : undefined;
}
