/** What this provider says when it refuses: the name of an exception tells more than the status. */
import { BackendError, type BackendErrorKind, type Failures } from "#plugins/backends";

const kinds: readonly (readonly [RegExp, BackendErrorKind])[] = [
  [/CONTENT_LENGTH_EXCEEDS|input is too long|CONTEXT_WINDOW/i, "overflow"],
  [/MONTHLY_REQUEST_COUNT|OVERAGE|ServiceQuotaExceeded/i, "quota"],
  [/Throttling|INSUFFICIENT_MODEL_CAPACITY|TooManyRequests/i, "rateLimit"],
  [/AccessDenied|UnrecognizedClient|ExpiredToken|Unauthorized|InvalidToken/i, "auth"],
  [/InternalServer|ServiceUnavailable|Timeout|DryRun/i, "transient"],
  [/Validation|ResourceNotFound|Conflict/i, "badRequest"],
];

/** A bad status. */
export function refusal(fail: Failures, status: number, headers: Headers, body: string): BackendError {
  const plain = fail.status(status, headers, body);
  const { type, reason } = namesOf(body);
  const kind = status === 401 ? "auth" : (kindOf(`${type} ${reason} ${body.slice(0, 500)}`) ?? plain.kind);
  const { retryAfterMs: wait } = plain;
  const said = reason === "" ? plain.message : `${plain.message} (${reason})`;
  return new BackendError(kind, said, { status, ...(wait === undefined ? {} : { retryAfterMs: wait }) });
}

/** An exception inside of a stream. */
export function exception(type: string, body: string): BackendError {
  const { reason, message } = namesOf(body);
  const words = [type, message || body.slice(0, 400), reason].filter((part) => part !== "").join(": ");
  return new BackendError(kindOf(`${type} ${reason} ${message}`) ?? "transient", `kiro: ${words}`);
}

const kindOf = (text: string): BackendErrorKind | undefined => kinds.find(([pattern]) => pattern.test(text))?.[1];

function namesOf(body: string): { type: string; reason: string; message: string } {
  try {
    const value = JSON.parse(body) as Record<string, unknown>;
    const text = (key: string) => (typeof value[key] === "string" ? (value[key] as string) : "");
    return { type: text("__type"), reason: text("reason"), message: text("message") || text("Message") };
  } catch {
    return { type: "", reason: "", message: "" };
  }
}
