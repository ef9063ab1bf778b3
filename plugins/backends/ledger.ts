/** What all requests of the server used, by model: whoever asked, agents and inner calls alike. */
import type { Usage } from "#plugins/backends";

interface Sum {
  requests: number;
  input: number;
  cached: number;
  written: number;
  output: number;
  /** USD, of the requests whose cost is known. */
  cost: number;
  /** Requests whose cost is not known. */
  unpriced: number;
  estimated: boolean;
}

export interface Ledger {
  /** `usage.costUSD` undefined: the cost is not known. */
  add(backend: string, model: string, usage: Usage): void;
  /** A line for each model, sorted, and the total: names and values between tabs. */
  text(): string;
}

const nothing = (): Sum => ({
  requests: 0,
  input: 0,
  cached: 0,
  written: 0,
  output: 0,
  cost: 0,
  unpriced: 0,
  estimated: false,
});

export function ledger(): Ledger {
  const sums = new Map<string, Sum>();
  const total = nothing();
  return {
    add(backend, model, usage) {
      const name = `${backend}/${model}`;
      const sum = sums.get(name) ?? nothing();
      sums.set(name, sum);
      for (const to of [sum, total]) {
        to.requests++;
        to.input += usage.input;
        to.cached += usage.cachedInput ?? 0;
        to.written += usage.cacheCreation ?? 0;
        to.output += usage.output;
        to.cost += usage.costUSD ?? 0;
        to.unpriced += usage.costUSD === undefined ? 1 : 0;
        to.estimated ||= usage.estimated === true;
      }
    },
    text: () =>
      [...[...sums].sort(([a], [b]) => (a < b ? -1 : 1)), ["total", total] as const]
        .map(([name, sum]) => `${name}\t${tokens(sum)}\t${money(sum)}\n`)
        .join(""),
  };
}

function tokens({ input, output, requests, cached, written, estimated }: Sum): string {
  const more = [cached > 0 ? `, ${cached} cached` : "", written > 0 ? `, ${written} written to caches` : ""].join("");
  return `${input} in, ${output} out, ${requests} requests${more}${estimated ? " [estimated]" : ""}`;
}

function money({ cost, unpriced }: Sum): string {
  const known = `$${cost.toFixed(4)}`;
  if (unpriced === 0) return known;
  return cost > 0 ? `unknown (${known} is known)` : "unknown";
}
