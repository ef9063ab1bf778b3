/** How long a provider asks to wait, in all the forms in which it says so. */

/** Milliseconds, or undefined where nothing sensible is said (absent, junk, zero, negative, past). */
export function retryAfter(headers: Headers | undefined, body: string, now = Date.now()): number | undefined {
  const ms = Number(headers?.get("retry-after-ms") ?? "");
  if (ms > 0) return Math.ceil(ms);
  const value = headers?.get("retry-after")?.trim() ?? "";
  if (/^\d+(\.\d+)?$/.test(value)) {
    const seconds = Number(value);
    if (seconds > 0) return Math.ceil(seconds * 1000);
  }
  // "-5" and "soon" must not be taken for dates.
  const date = /^[A-Z][a-z]{2}/.test(value) ? Date.parse(value) : Number.NaN;
  if (date > now) return date - now;
  return said(body, now);
}

/** "try again in 1m12.5s", "retry in 350ms", "resets in 2 days", "resets at 2026-01-02T03:04:05Z". */
function said(body: string, now: number): number | undefined {
  const text = body.slice(0, 4_000);
  const span = /(?:try again|retry|resets?) (?:in|after) ((?:\d+(?:\.\d+)?\s*(?:ms|milli|d|h|m|s)[a-z]*\s*)+)/i.exec(
    text,
  )?.[1];
  if (span) {
    let total = 0;
    for (const [, count = "0", unit = ""] of span.matchAll(/(\d+(?:\.\d+)?)\s*(ms|milli|d|h|m|s)/gi))
      total +=
        Number(count) *
        ({ ms: 1, milli: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }[unit.toLowerCase()] ?? 0);
    if (total > 0) return Math.ceil(total);
  }
  const day = /resets?.{0,20}?(\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d))/i.exec(text)?.[1];
  const then = day ? Date.parse(day) : Number.NaN;
  return then > now ? then - now : undefined;
}
