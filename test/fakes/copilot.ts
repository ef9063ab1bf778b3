/** A fake of GitHub Copilot over real HTTP: device login, exchange of tokens that expire, models, and strict chats. */
import { ended } from "./chat-parts.ts";
import { compile, type Part, type Parts } from "./parts.ts";
import { type Answer, json, type Request, serve } from "./server.ts";
import { complaint } from "./strict-chat.ts";

export { call, finish, text, usage } from "./chat-parts.ts";

export interface CopilotFakeOptions {
  /** Seconds that a token is said to be good for. Default 1,800. */
  life?: number;
  /** Polls of the login that are answered `pending`. */
  pending?: number;
}

export interface CopilotFake {
  readonly url: string;
  readonly env: Record<string, string>;
  readonly requests: Request[];
  readonly chats: Request[];
  /** Exchanges of the account's token. */
  readonly exchanges: Request[];
  readonly complaints: string[];
  reply(...parts: Parts): void;
  /** From now on, tokens made so far are refused. */
  expire(): void;
  /** Exchanges are answered when this resolves. */
  hold(until: Promise<unknown>): void;
  close(): Promise<void>;
}

export const account = "gho_account-token-1";

export async function copilotFake(options: CopilotFakeOptions = {}): Promise<CopilotFake> {
  const script: Part[][] = [];
  const chats: Request[] = [];
  const exchanges: Request[] = [];
  const complaints: string[] = [];
  let good = new Map<string, number>();
  let polls = 0;
  let gate: Promise<unknown> = Promise.resolve();

  const server = await serve(async (request): Promise<Answer> => {
    if (request.path === "/login/device/code")
      return json({
        device_code: "dc",
        user_code: "ABCD-1234",
        verification_uri: "http://fake/device",
        interval: 0.05,
        expires_in: 60,
      });
    if (request.path === "/login/oauth/access_token")
      return json(polls++ < (options.pending ?? 0) ? { error: "authorization_pending" } : { access_token: account });
    if (request.path === "/copilot_internal/v2/token") {
      exchanges.push(request);
      await gate;
      if (request.headers.authorization !== `token ${account}`) return json({ message: "Bad credentials" }, 401);
      const life = options.life ?? 1_800;
      const token = `tid=${exchanges.length};exp=1`;
      good.set(token, Date.now() + life * 1000);
      return json({
        token,
        expires_at: Math.ceil(Date.now() / 1000 + life),
        refresh_in: life,
        endpoints: { api: server.url },
      });
    }
    const token = (request.headers.authorization ?? "").replace("Bearer ", "");
    if ((good.get(token) ?? 0) <= Date.now()) {
      if (request.path === "/chat/completions") chats.push(request);
      return json({ error: { message: "IDE token expired: token expired" } }, 401);
    }
    if (request.path === "/models")
      return json({
        data: [
          {
            id: "gpt-b",
            capabilities: { type: "chat", limits: { max_prompt_tokens: 64_000, max_context_window_tokens: 128_000 } },
          },
          { id: "embed", capabilities: { type: "embeddings" } },
          { id: "new", capabilities: { type: "chat" }, supported_endpoints: ["/responses"] },
          { id: "off", capabilities: { type: "chat" }, policy: { state: "disabled" } },
          { id: "a", capabilities: { type: "chat" }, supported_endpoints: ["/chat/completions", "/responses"] },
        ],
      });
    if (request.path !== "/chat/completions") return json({ error: { message: "no such path" } }, 404);
    chats.push(request);
    const missing = ["editor-version", "copilot-integration-id", "openai-intent", "x-initiator"].find(
      (name) => !request.headers[name],
    );
    const wrong = missing ? `header ${missing} is missing` : complaint(request.body);
    if (wrong) {
      complaints.push(wrong);
      return json({ error: { message: wrong } }, 400);
    }
    const next = script.shift();
    return next ? compile(next) : json({ error: { message: "fake: no reply is scripted" } }, 400);
  });

  return {
    url: server.url,
    env: {
      OLLIE_BACKEND: "copilot",
      OLLIE_MODEL: "gpt-b",
      OLLIE_COPILOT_TOKEN: account,
      OLLIE_COPILOT_GITHUB_URL: server.url,
      OLLIE_COPILOT_LOGIN_URL: server.url,
      OLLIE_CFG_PATH: "/nonexistent",
    },
    requests: server.requests,
    chats,
    exchanges,
    complaints,
    reply: (...parts) => void script.push(ended(parts.flat())),
    expire: () => {
      good = new Map();
    },
    hold: (until) => {
      gate = until;
    },
    close: server.close,
  };
}
