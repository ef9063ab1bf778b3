/** A strict fake of the CodeWhisperer service over real HTTP: binary event streams, and both ways of renewing a token. */
import { EventStreamCodec } from "@smithy/core/event-streams";
import { type Answer, bytes, json, type Request, serve } from "./server.ts";
import type { Act } from "./wire.ts";

const codec = new EventStreamCodec(
  (data) => (typeof data === "string" ? data : new TextDecoder().decode(data)),
  (text) => new TextEncoder().encode(text),
);

/** A frame with lengths and checksums. */
export function frame(type: string, payload: unknown, kind: "event" | "exception" = "event"): Uint8Array {
  const string = (value: string) => ({ type: "string" as const, value });
  return codec.encode({
    headers: {
      ":message-type": string(kind),
      [kind === "event" ? ":event-type" : ":exception-type"]: string(type),
      ":content-type": string("application/json"),
    },
    body: new TextEncoder().encode(JSON.stringify(payload)),
  });
}

export const say = (content: string) => frame("assistantResponseEvent", { content });
/** A call whose arguments come in `parts` fragments. */
export function call(toolUseId: string, name: string, args: unknown, parts = 1): Uint8Array[] {
  const text = JSON.stringify(args);
  const size = Math.ceil(text.length / parts);
  const fragments = Array.from({ length: parts }, (_, at) => text.slice(at * size, (at + 1) * size));
  return [
    ...fragments.map((input) => frame("toolUseEvent", { toolUseId, name, input })),
    frame("toolUseEvent", { toolUseId, name, stop: true }),
  ];
}

export interface KiroFake {
  readonly url: string;
  readonly requests: Request[];
  readonly chats: Request[];
  /** Requests that renew a token. */
  readonly renewals: Request[];
  readonly complaints: string[];
  /** Answers to chats, in order: what `reply` and the others append to. */
  readonly script: Answer[];
  /** What the list of models answers instead. */
  list?: Answer;
  /** The token that is taken. */
  token: string;
  /** Scripts the next reply. `size`: bytes of one write; undefined: all in one. */
  reply(frames: (Uint8Array | Uint8Array[])[], size?: number): void;
  exactly(acts: (Act | string)[]): void;
  error(status: number, body: object): void;
  close(): Promise<void>;
}

export async function kiroFake(): Promise<KiroFake> {
  const script: Answer[] = [];
  const chats: Request[] = [];
  const renewals: Request[] = [];
  const complaints: string[] = [];
  const server = await serve((request): Answer => {
    if (request.path === "/token" || request.path === "/refreshToken") {
      renewals.push(request);
      const good =
        request.path === "/token"
          ? request.body.clientSecret === "cs" && request.body.grantType === "refresh_token"
          : true;
      if (!good || request.body.refreshToken !== "rt-1") return json({ error: "invalid_grant" }, 400);
      self.token = `new-token-${renewals.length}`;
      return json({ accessToken: self.token, refreshToken: "rt-1", expiresIn: 3600 });
    }
    const target = String(request.headers["x-amz-target"]);
    const chat = target === "AmazonCodeWhispererStreamingService.GenerateAssistantResponse";
    if (chat) chats.push(request);
    if (request.headers.authorization !== `Bearer ${self.token}`)
      return json(
        { __type: "AccessDeniedException", message: "The bearer token included in the request is invalid." },
        403,
      );
    if (target === "AmazonCodeWhispererService.ListAvailableModels")
      return (
        self.list ??
        json({
          models: [{ modelId: "claude-x", tokenLimits: { maxInputTokens: 200_000 } }, { modelId: "auto" }],
          defaultModel: { modelId: "auto", tokenLimits: { maxInputTokens: 100_000 } },
        })
      );
    if (!chat) return json({ __type: "UnknownOperationException" }, 404);
    const wrong = complaint(request.body);
    if (wrong) {
      complaints.push(wrong);
      return json({ __type: "ValidationException", message: wrong, reason: "REQUEST_BODY_INVALID" }, 400);
    }
    return script.shift() ?? json({ __type: "ValidationException", message: "fake: no reply is scripted" }, 400);
  });
  const self: KiroFake = {
    script,
    url: server.url,
    requests: server.requests,
    chats,
    renewals,
    complaints,
    token: "token-0",
    reply: (frames, size) =>
      void script.push({
        head: { headers: { "content-type": "application/vnd.amazon.eventstream" } },
        acts: [{ do: "bytes", bytes: Buffer.concat(frames.flat()) }],
        ...(size === undefined ? {} : { size }),
      }),
    exactly: (acts) => void script.push({ acts: acts.map((act) => (typeof act === "string" ? bytes(act) : act)) }),
    error: (status, body) => void script.push(json(body, status)),
    close: server.close,
  };
  return self;
}

interface User {
  content?: unknown;
  modelId?: unknown;
  origin?: unknown;
  userInputMessageContext?: {
    toolResults?: { toolUseId?: unknown; content?: { json?: unknown; text?: unknown }[] }[];
    tools?: { toolSpecification?: { name?: unknown } }[];
  };
}
interface Entry {
  userInputMessage?: User;
  assistantResponseMessage?: {
    content?: unknown;
    toolUses?: { toolUseId?: unknown; name?: unknown; input?: unknown }[];
  };
}

function complaint(body: { conversationState?: { history?: Entry[]; currentMessage?: Entry } }): string | undefined {
  const { history = [], currentMessage } = body?.conversationState ?? {};
  if (!currentMessage?.userInputMessage) return "the current message is no user's";
  const tools = currentMessage.userInputMessage.userInputMessageContext?.tools ?? [];
  const names = new Set(tools.map((tool) => tool.toolSpecification?.name));
  const open = new Set<unknown>();
  for (const [at, { userInputMessage: user, assistantResponseMessage: assistant }] of [
    ...history,
    currentMessage,
  ].entries()) {
    if (Boolean(user) !== (at % 2 === 0)) return `history[${at}]: users and assistants must alternate`;
    if (user) {
      if (typeof user.content !== "string" || user.content.trim() === "") return `history[${at}]: content is blank`;
      if (typeof user.modelId !== "string" || /[/:]/.test(user.modelId) || user.modelId === "")
        return "modelId is unknown";
      const results = user.userInputMessageContext?.toolResults ?? [];
      for (const { toolUseId, content = [] } of results) {
        if (!open.delete(toolUseId)) return `history[${at}]: result of an unknown call`;
        const [{ json, text } = {}] = content;
        if (
          json === undefined
            ? typeof text !== "string"
            : typeof json !== "object" || json === null || Array.isArray(json)
        )
          return `history[${at}]: the result is neither text nor a JSON object`;
      }
      if (open.size > 0) return `history[${at}]: calls without a result`;
    }
    for (const { toolUseId, name, input } of assistant?.toolUses ?? []) {
      if (typeof input !== "object" || input === null || Array.isArray(input))
        return `history[${at}]: input is no object`;
      if (!names.has(name)) return `history[${at}]: tool ${name} is not offered`;
      open.add(toolUseId);
    }
  }
  return undefined;
}
