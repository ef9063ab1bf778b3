/** Failures of the provider as BackendErrors: classed, with the provider's own words, and never with the key. */
import { cutText, messageOf } from "#core";
import { BackendError, type BackendErrorKind } from "./error.ts";
import { retryAfter } from "./retry-after.ts";

const overflow =
  /context_length_exceeded|prompt is too long|reduce the length|too many tokens|maximum (?:context|prompt) length|context size|context window|input is too long|exceeds the maximum number of tokens|exceed context limit|exceed_context_size/i;

const noTools =
  /tool use is not supported|tools is not supported|function calling is not supported|does not support (?:tools|function)|tool_use is not enabled|not support tool|no endpoints found that support tool|requires --jinja|tool choice requires/i;

const noCredit =
  /insufficient_quota|exceeded your current quota|billing_hard_limit|billing_not_active|credit balance|insufficient (?:credits|balance|funds)|daily (?:quota|limit)|quota.{0,20}per day/i;

/** Types that stand in for a status where an error comes inside of a stream. */
const byType: readonly (readonly [RegExp, BackendErrorKind])[] = [
  [/billing/i, "quota"],
  [/rate_?limit|too_many_requests|resource_exhausted/i, "rateLimit"],
  [/authentication|permission|invalid_api_key|unauthorized/i, "auth"],
  [/invalid_request|invalid_argument|bad_?request|not_found|model_not_found/i, "badRequest"],
];

/** Codes of what is wrong with a request before it is sent: a URL, or what a header would hold. */
const unsendable = new Set<unknown>(["ERR_INVALID_URL", "UND_ERR_INVALID_ARG", "UND_ERR_NOT_SUPPORTED"]);

/** What a failure is, from its HTTP status (undefined inside of a stream that names none) and all text of its body. */
export function kindOf(status: number | undefined, body: string, type = ""): BackendErrorKind {
  if (status === 401 || status === 403) return noCredit.test(body) ? "quota" : "auth";
  if (status === 402 || (noCredit.test(body) && (status === undefined || status < 500))) return "quota";
  if (status === 429) return "rateLimit";
  if (status === 413) return "overflow";
  if (status === undefined || [400, 404, 422, 500].includes(status)) {
    if (overflow.test(body)) return "overflow";
    if (noTools.test(body)) return "toolUnsupported";
  }
  if (status === undefined) return byType.find(([pattern]) => pattern.test(type))?.[1] ?? "transient";
  if (status >= 500 || status === 408 || status === 409 || status === 425) return "transient";
  return "badRequest";
}

/** The failures of one provider: they begin with its name, and the key that it was asked with is not in them. */
export interface Failures {
  /** A reply with a bad status; `body` may be cut. */
  status(status: number, headers: Headers, body: string): BackendError;
  /** An error inside of a stream that began well: `{"error": …}` of a chunk, of a choice, or of an `error` event. */
  inBand(error: unknown): BackendError;
  /** A body with a good status that is no reply of this protocol: most often the URL is that of something else. */
  noReply(body: string): BackendError;
  /** A stream that can not be read, or that ended too early. */
  broken(why: string): BackendError;
  /** What was thrown on the way, by the network or by a package: `url` says where to. A BackendError stays what it is. */
  thrown(error: unknown, url: string): BackendError;
}

/** `name`: of the backend. `key`: may be empty. */
export function failures(name: string, key: string): Failures {
  const make = (
    kind: BackendErrorKind,
    text: string,
    more: { status?: number | undefined; retryAfterMs?: number | undefined; cause?: unknown } = {},
  ) => {
    const { status, retryAfterMs, cause } = more;
    return new BackendError(kind, `${name}: ${hide(text, key)}`, {
      ...(status === undefined ? {} : { status }),
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      ...(cause === undefined ? {} : { cause }),
    });
  };
  return {
    status: (status, headers, body) =>
      make(kindOf(status, body), `${status} ${wordsOf(body)}`.trimEnd(), {
        status,
        retryAfterMs: retryAfter(headers, body),
      }),
    inBand(error) {
      const body = JSON.stringify(error) ?? "";
      const { code, status, type } = (typeof error === "object" && error !== null ? error : {}) as Record<
        string,
        unknown
      >;
      const number = [code, status].map(Number).find((n) => Number.isInteger(n) && n >= 400 && n <= 599);
      const kind = kindOf(number, body, [type, code, status].filter((t) => typeof t === "string").join(" "));
      return make(kind, wordsOf(JSON.stringify({ error })), {
        status: number,
        retryAfterMs: retryAfter(undefined, body),
      });
    },
    noReply: (body) => make("badRequest", `the server did not answer as a chat endpoint: ${wordsOf(body)}`),
    broken: (why) => make("transient", why),
    thrown(error, url) {
      const cause = deepest(error);
      if (cause instanceof BackendError)
        return cause.message.startsWith(`${name}: `) ? cause : make(cause.kind, cause.message, { cause });
      const code = (cause as { code?: unknown } | undefined)?.code;
      const why = messageOf(cause) || (typeof code === "string" ? code : "connection failed");
      return make(unsendable.has(code) ? "badRequest" : "transient", `${url}: ${oneLine(why)}`);
    },
  };
}

/** Packages wrap what was thrown, and a failed connection is a list of failed attempts: the innermost says most. */
function deepest(error: unknown): unknown {
  let cause = error;
  for (let depth = 0; depth < 5 && !(cause instanceof BackendError); depth++) {
    const { cause: next, errors } = (cause ?? {}) as { cause?: unknown; errors?: unknown[] };
    const deeper = next ?? errors?.[0];
    if (typeof deeper !== "object" || deeper === null) break;
    cause = deeper;
  }
  return cause;
}

/** The provider's own words in one line of at most 500 bytes. */
export function wordsOf(body: string): string {
  try {
    const { error, message, detail } = JSON.parse(body) as Record<string, unknown>;
    const inner = typeof error === "object" && error !== null ? (error as Record<string, unknown>) : {};
    const raw = (inner.metadata as { raw?: unknown } | undefined)?.raw; // a router's note of what the server behind it said
    const words = [inner.message, error, message, detail].find((part) => typeof part === "string" && part !== "");
    const text = [words ?? JSON.stringify(error ?? detail ?? JSON.parse(body)), raw].filter(
      (t) => typeof t === "string",
    );
    return oneLine(text.join(": "));
  } catch {
    return oneLine(body);
  }
}

/** Text of anything, an HTML page too, in one line. */
function oneLine(text: string): string {
  const page = /<(?:!doctype|html|head|body)\b/i.test(text);
  const title = /<title[^>]*>([^<]*)/i.exec(text)?.[1];
  const plain = page ? (title ?? text.replace(/<(script|style)[\s\S]*?<\/\1>/gi, "").replace(/<[^>]*>/g, " ")) : text;
  const line = plain.replace(/\s+/g, " ").trim();
  const cut = cutText(line, 500);
  return cut === line ? line : `${cut}…`;
}

/** Some servers repeat the key that they refuse. */
export const hide = (text: string, key: string): string => (key.length >= 6 ? text.replaceAll(key, "[key]") : text);
