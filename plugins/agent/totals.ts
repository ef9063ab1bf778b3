/** Tokens and cost of one agent, and how `stats` words them. */
import type { Usage } from "#plugins/backends";

/** What sums up over agents. */
export interface Sums {
  input: number;
  output: number;
  cached: number;
  requests: number;
  estimated: boolean;
  /** USD, of the requests whose cost is known. */
  cost: number;
  /** Requests whose cost is not known. */
  unpriced: number;
}

export interface Totals extends Sums {
  /** Tool rounds. */
  steps: number;
  /** Tokens written to caches of providers. */
  written: number;
  /** The same two of the last turn. */
  costLast: number;
  unpricedLast: number;
  /** Of children that were killed. */
  gone?: Sums;
}

/** Sums of several agents, each with its killed children. */
export function sumOf(all: readonly Totals[]): Sums {
  const sum: Sums = { input: 0, output: 0, cached: 0, requests: 0, estimated: false, cost: 0, unpriced: 0 };
  for (const one of all.flatMap((totals) => [totals, totals.gone ?? []].flat())) {
    sum.input += one.input;
    sum.output += one.output;
    sum.cached += one.cached;
    sum.requests += one.requests;
    sum.estimated ||= one.estimated;
    sum.cost += one.cost;
    sum.unpriced += one.unpriced;
  }
  return sum;
}

export const noTotals = (): Totals => ({
  input: 0,
  output: 0,
  cached: 0,
  requests: 0,
  steps: 0,
  estimated: false,
  written: 0,
  cost: 0,
  costLast: 0,
  unpriced: 0,
  unpricedLast: 0,
});

export function addUsage(to: Totals, usage: Usage): void {
  to.input += usage.input;
  to.output += usage.output;
  to.cached += usage.cachedInput ?? 0;
  to.requests++;
  to.estimated ||= usage.estimated === true;
  to.written += usage.cacheCreation ?? 0;
  to.cost += usage.costUSD ?? 0;
  to.costLast += usage.costUSD ?? 0;
  to.unpriced += usage.costUSD === undefined ? 1 : 0;
  to.unpricedLast += usage.costUSD === undefined ? 1 : 0;
}

export function usageText({ input, output, cached, requests, estimated }: Sums): string {
  const more = cached > 0 ? `, ${cached} cached` : "";
  return `${input} in, ${output} out, ${requests} requests${more}${estimated ? " [estimated]" : ""}`;
}

/** What was used between two moments; undefined: nothing. */
export function usedSince(before: Totals, now: Totals): string | undefined {
  if (now.requests === before.requests) return undefined;
  const used = {
    ...now,
    input: now.input - before.input,
    output: now.output - before.output,
    cached: now.cached - before.cached,
    requests: now.requests - before.requests,
  };
  return used.costLast > 0 ? `${usageText(used)}, ${costText(used.costLast, used.unpricedLast)}` : usageText(used);
}

/** What is not known is not nothing: the part that is known is told beside it. */
export function costText(known: number, unpriced: number): string {
  if (unpriced === 0) return dollars(known);
  return known > 0 ? `unknown (${dollars(known)} is known)` : "unknown";
}

export const dollars = (amount: number): string => `$${amount.toFixed(4)}`;
