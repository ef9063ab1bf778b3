/** What goes wrong between us and a provider. */

export type BackendErrorKind =
  | "rateLimit"
  | "transient" // network, 5xx, stream that broke or stalled
  | "overflow" // over the context window
  | "toolUnsupported"
  | "auth"
  | "quota" // no credit, daily quota: waiting does not help
  | "badRequest";

/** What a backend throws from `chatStream`. `message` keeps the provider's own words. */
export class BackendError extends Error {
  readonly kind: BackendErrorKind;
  readonly status: number | undefined;
  /** What the provider asked to wait. */
  readonly retryAfterMs: number | undefined;
  constructor(
    kind: BackendErrorKind,
    message: string,
    more: { status?: number; retryAfterMs?: number; cause?: unknown } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.name = "BackendError";
    this.kind = kind;
    this.status = more.status;
    this.retryAfterMs = more.retryAfterMs;
  }
}
