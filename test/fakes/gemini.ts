/**
 * A strict fake of streamGenerateContent over real HTTP:
 *
 *   const fake = await geminiFake();
 *   fake.reply(parts({ text: "let me look" }), parts({ functionCall: { name: "shell", args: {} } }));
 *   … run with fake.env …
 *   fake.chats[0].body.contents; fake.complaints; await fake.close();
 */
import { type Answer, bytes, json, type Request, serve } from "./server.ts";
import type { Act } from "./wire.ts";

export type Chunk = Record<string, unknown>;
export interface Part {
  text?: string;
  thought?: boolean;
  thoughtSignature?: string;
  functionCall?: { id?: string; name: string; args: unknown };
  functionResponse?: { id?: string; name?: string; response?: unknown };
}

/** A chunk with these parts. */
export const parts = (...parts: Part[]): Chunk => ({ candidates: [{ content: { role: "model", parts }, index: 0 }] });
export const finish = (finishReason: string, more: object = {}): Chunk => ({
  candidates: [{ content: { parts: [] }, finishReason, index: 0, ...more }],
});
export const usage = (usageMetadata: object): Chunk => ({ usageMetadata });

export interface GeminiFakeOptions {
  /** The key to demand; `any` takes all. */
  key?: string;
  /** Answer of the list of models, page by page. */
  models?: unknown[];
  /** Refuse a step of the present turn whose first call has no signature, as models from 3 on do. */
  signatures?: boolean;
}

export interface GeminiFake {
  readonly url: string;
  readonly env: Record<string, string>;
  readonly requests: Request[];
  readonly chats: Request[];
  readonly complaints: string[];
  /** Answers to chats, in order: what `reply` and the others append to. */
  readonly script: Answer[];
  /** What the list of models answers instead. */
  list?: Answer;
  /** Scripts the next reply; a finish reason and usage are added where there are none. */
  reply(...chunks: Chunk[]): void;
  /** Scripts the next reply, byte by byte. `size`: bytes of one write. */
  exactly(acts: (Act | string)[], size?: number): void;
  error(status: number, error: object | string): void;
  close(): Promise<void>;
}

export async function geminiFake(options: GeminiFakeOptions = {}): Promise<GeminiFake> {
  const script: Answer[] = [];
  const chats: Request[] = [];
  const complaints: string[] = [];
  const key = options.key ?? "g-key-1";
  let page = 0;

  const server = await serve((request): Answer => {
    if (key !== "any" && request.headers["x-goog-api-key"] !== key)
      return json({ error: { code: 400, message: "API key not valid.", status: "INVALID_ARGUMENT" } }, 400);
    if (request.path === "/v1beta/models") return self.list ?? json(options.models?.[page++] ?? { models: [] });
    if (!/^\/v1beta\/models\/[^/]+:streamGenerateContent$/.test(request.path) || request.query.get("alt") !== "sse")
      return json({ error: { code: 404, message: "not found", status: "NOT_FOUND" } }, 404);
    chats.push(request);
    const wrong = complaint(request.body, options.signatures === true);
    if (wrong) {
      complaints.push(wrong);
      return json({ error: { code: 400, message: wrong, status: "INVALID_ARGUMENT" } }, 400);
    }
    return script.shift() ?? json({ error: { code: 400, message: "fake: no reply is scripted" } }, 400);
  });

  const self: GeminiFake = {
    script,
    url: server.url,
    env: { OLLIE_BACKEND: "gemini", OLLIE_GEMINI_URL: server.url, OLLIE_GEMINI_KEY: key, OLLIE_MODEL: "gemini-3-fake" },
    requests: server.requests,
    chats,
    complaints,
    reply(...chunks) {
      const text = JSON.stringify(chunks);
      const all = [...chunks];
      if (!text.includes('"finishReason"')) all.push(finish("STOP"));
      if (!text.includes('"usageMetadata"')) all.push(usage({ promptTokenCount: 100, candidatesTokenCount: 10 }));
      script.push(stream(all.map((chunk) => bytes(event(chunk)))));
    },
    exactly: (acts, size) =>
      void script.push(
        stream(
          acts.map((act) => (typeof act === "string" ? bytes(act) : act)),
          size,
        ),
      ),
    error: (status, error) =>
      void script.push(
        typeof error === "string" ? { head: { status }, acts: [bytes(error)] } : json({ error }, status),
      ),
    close: server.close,
  };
  return self;
}

export const event = (chunk: Chunk) => `data: ${JSON.stringify(chunk)}\r\n\r\n`;

const stream = (acts: Act[], size?: number): Answer => ({
  head: { headers: { "content-type": "text/event-stream" } },
  acts,
  ...(size === undefined ? {} : { size }),
});

interface Content {
  role?: unknown;
  parts?: Part[];
}

/** What the provider refuses. */
function complaint(body: { contents?: Content[]; tools?: unknown; systemInstruction?: Content }, signatures: boolean) {
  const contents = body?.contents;
  if (!Array.isArray(contents) || contents.length === 0) return "contents is not specified";
  if (contents[0]?.role !== "user") return "the first content must be of role user";
  let pending: Part["functionCall"][] = [];
  const turn = contents.findLastIndex(({ role, parts }) => role === "user" && parts?.some((part) => part.text));
  for (const [at, { role, parts = [] }] of contents.entries()) {
    if (at > 0 && role === contents[at - 1]?.role) return `contents[${at}]: roles must alternate`;
    if (parts.length === 0) return `contents[${at}]: parts is empty`;
    const given = parts.flatMap((part) => (part.functionResponse ? [part.functionResponse] : []));
    if (
      given.length !== pending.length ||
      given.some(({ name, id }, i) => name !== pending[i]?.name || id !== pending[i]?.id)
    )
      return `contents[${at}]: function response parts must equal the function call parts of the turn before`;
    const called = parts.filter((part) => part.functionCall);
    if (called.some(({ functionCall: call }) => typeof call?.args !== "object" || Array.isArray(call.args)))
      return `contents[${at}]: args is no object`;
    if (signatures && at > turn && called[0] && !called[0].thoughtSignature)
      return `contents[${at}]: Function call is missing a thought_signature in functionCall parts`;
    pending = called.map((part) => part.functionCall);
  }
  if (pending.length > 0) return "function calls without a response at the end";
  return unknownKeyword(body.tools);
}

const keywords = new Set([
  ...["type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems", "properties", "required"],
  ...["minProperties", "maxProperties", "minLength", "maxLength", "pattern", "anyOf", "items", "minimum", "maximum"],
  ...["default"],
]);

function unknownKeyword(tools: unknown): string | undefined {
  const list = (tools as { functionDeclarations?: { name?: string; parameters?: unknown }[] }[] | undefined) ?? [];
  for (const { name, parameters } of list.flatMap((tool) => tool.functionDeclarations ?? [])) {
    const wrong = parameters === undefined ? undefined : inSchema(parameters as Record<string, unknown>);
    if (wrong) return `${name}: ${wrong}`;
  }
  return undefined;
}

function inSchema(schema: Record<string, unknown>): string | undefined {
  for (const key of Object.keys(schema)) if (!keywords.has(key)) return `Unknown name "${key}"`;
  if (schema.type !== undefined && typeof schema.type !== "string") return "type is no string";
  const properties = schema.properties as Record<string, Record<string, unknown>> | undefined;
  if (properties && Object.keys(properties).length === 0) return "properties: should be non-empty for OBJECT type";
  if (schema.type === "array" && !schema.items) return "items: missing field";
  const below = [...Object.values(properties ?? {}), schema.items, ...((schema.anyOf as unknown[]) ?? [])];
  return below.map((child) => (child ? inSchema(child as Record<string, unknown>) : undefined)).find(Boolean);
}
