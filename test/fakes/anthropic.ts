/**
 * A strict fake of a Messages provider over real HTTP on 127.0.0.1, used as the one of openai.ts is. It refuses thoughts
 * whose signature is not theirs. No test library is needed.
 */
import { ended, prepared, signatureOf } from "./message-parts.ts";
import { type Fake, type FakeOptions, type FakeRequest, scriptedFake } from "./scripted.ts";
import { complaint } from "./strict-messages.ts";

export * from "./message-parts.ts";
export type { FakeOptions, FakeRequest } from "./scripted.ts";

export type AnthropicFake = Fake;

export const anthropicFake = (options: FakeOptions = {}): Promise<AnthropicFake> =>
  scriptedFake(
    {
      chat: "/v1/messages",
      prepared,
      ended,
      complaint: (request) => complaint(request) ?? forged(request),
      keyOf: (headers) => headers["x-api-key"]?.toString() ?? headers.authorization?.replace(/^Bearer /, ""),
      error: (code, body) => ({ type: "error", error: { type: typeOf(code), ...body } }),
      refusal: {
        key: { type: "authentication_error" },
        body: { type: "request_too_large", message: "Request exceeds the maximum size" },
        window: { message: "prompt is too long: 215000 tokens > 200000 maximum" },
      },
      env: (url, key) => ({
        OLLIE_BACKEND: "anthropic",
        OLLIE_ANTHROPIC_URL: url,
        OLLIE_MODEL: "claude-fake-1",
        ...(key === undefined ? {} : { OLLIE_ANTHROPIC_KEY: key }),
      }),
    },
    options,
  );

const types: Record<number, string> = {
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  500: "api_error",
  529: "overloaded_error",
};
const typeOf = (code: number) => types[code] ?? "invalid_request_error";

function forged({ body }: FakeRequest): string | undefined {
  for (const [at, { content }] of body.messages.entries())
    for (const [n, block] of content.entries())
      if (block.type === "thinking" && block.signature !== signatureOf(block.thinking))
        return `messages.${at}.content.${n}: Invalid \`signature\` in \`thinking\` block`;
  return undefined;
}
