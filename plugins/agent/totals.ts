/** Tokens and cost of one agent, and how `stats` words them. */
import type { Usage } from "#plugins/backends";

/** What sums up over agents. */
export interface Sums {
  input: number;
  output: number;
  cached: number;
  requests: number;
  estimated: boolean;
  /** USD. */
  cost: number;
}

export interface Totals extends Sums {
  /** Tool rounds. */
  steps: number;
  /** USD, of the last turn. */
  costLast: number;
  /** Of children that were killed. */
  gone?: Sums;
}

/** Sums of several agents, each with its killed children. */
export function sumOf(all: readonly Totals[]): Sums {
  const sum: Sums = { input: 0, output: 0, cached: 0, requests: 0, estimated: false, cost: 0 };
  for (const one of all.flatMap((totals) => [totals, totals.gone ?? []].flat())) {
    sum.input += one.input;
    sum.output += one.output;
    sum.cached += one.cached;
    sum.requests += one.requests;
    sum.estimated ||= one.estimated;
    sum.cost += one.cost;
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
  cost: 0,
  costLast: 0,
});

export function addUsage(to: Totals, usage: Usage): void {
  to.input += usage.input;
  to.output += usage.output;
  to.cached += usage.cachedInput ?? 0;
  to.requests++;
  to.estimated ||= usage.estimated === true;
  to.cost += usage.costUSD ?? 0;
  to.costLast += usage.costUSD ?? 0;
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
  return used.costLast > 0 ? `${usageText(used)}, ${dollars(used.costLast)}` : usageText(used);
}

export const dollars = (amount: number): string => `$${amount.toFixed(4)}`;
