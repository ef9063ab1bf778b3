/**
 * A strict fake of a Chat Completions provider over real HTTP on 127.0.0.1. Replies are scripted in order:
 *
 *   const fake = await openaiFake();
 *   fake.reply(text("let me look"), call("shell", { command: "ls" }));
 *   fake.reply(text("two files"));
 *   … run with fake.env …
 *   fake.requests[1].body.messages; fake.complaints; await fake.close();
 *
 * No test library is needed.
 */
import { ended } from "./chat-parts.ts";
import { type Fake, type FakeOptions, scriptedFake } from "./scripted.ts";
import { complaint } from "./strict-chat.ts";

export * from "./chat-parts.ts";
export type { FakeOptions, FakeRequest } from "./scripted.ts";

export type OpenAIFake = Fake;

export const openaiFake = (options: FakeOptions = {}): Promise<OpenAIFake> =>
  scriptedFake(
    {
      chat: "/v1/chat/completions",
      ended,
      complaint: ({ body }) => complaint(body),
      keyOf: ({ authorization }) => authorization?.replace(/^Bearer /, ""),
      error: (_, body) => ({ error: body }),
      refusal: {
        key: { code: "invalid_api_key" },
        body: { message: "body is too large" },
        window: { message: "This model's window is smaller", code: "context_length_exceeded" },
      },
      env: (url, key) => ({
        OLLIE_BACKEND: "openai",
        OLLIE_OPENAI_URL: url,
        OLLIE_MODEL: "fake-1",
        ...(key === undefined ? {} : { OLLIE_OPENAI_KEY: key }),
      }),
    },
    options,
  );
