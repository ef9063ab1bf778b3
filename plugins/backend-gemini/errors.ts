/** What this provider says when it refuses. */
import { BackendError, type Failures } from "#plugins/backends";

interface Detail {
  "@type"?: string;
  retryDelay?: unknown;
  violations?: { quotaId?: unknown; quotaMetric?: unknown }[];
}

/**
 * A bad status. A 429 says in its details how long to wait, and which limit was hit: the text is the same for one that ends
 * in a minute and for one that holds until midnight.
 */
export function refusal(fail: Failures, status: number, headers: Headers, body: string): BackendError {
  const plain = fail.status(status, headers, body);
  if (status !== 429) return plain;
  const details = detailsOf(body);
  const delay = details.map(({ retryDelay }) => seconds(retryDelay)).find((ms) => ms !== undefined);
  const limits = details.flatMap(({ violations }) => violations ?? []);
  const daily = limits.some(({ quotaId }) => /PerDay/i.test(String(quotaId))) || /per day|daily/i.test(body);
  const wait = delay ?? plain.retryAfterMs;
  return new BackendError(daily ? "quota" : "rateLimit", plain.message, {
    status,
    ...(wait === undefined ? {} : { retryAfterMs: wait }),
  });
}

/** The prompt or the reply was blocked. */
export const blocked = (what: string, reason: string, words: string | undefined): BackendError =>
  new BackendError("badRequest", `gemini: ${what} was refused (${reason})${words ? `: ${words.slice(0, 400)}` : ""}`);

function detailsOf(body: string): Detail[] {
  try {
    // A stream that fail at once may answer with a list.
    const value = [JSON.parse(body)].flat()[0] as { error?: { details?: unknown } } | undefined;
    const details = value?.error?.details;
    return Array.isArray(details) ? details.filter((detail) => typeof detail === "object" && detail !== null) : [];
  } catch {
    return [];
  }
}

/** `"34.074824224s"` in milliseconds. */
function seconds(value: unknown): number | undefined {
  const number = /^(\d+(?:\.\d+)?)s$/.exec(String(value))?.[1];
  return number === undefined || Number(number) === 0 ? undefined : Math.ceil(Number(number) * 1000);
}
