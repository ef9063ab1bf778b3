/** `stats`: one key=value a line. */
import { cacheText } from "./prefix.ts";
import { type Runtime, waiting } from "./runtime.ts";
import { costText, sumOf, usageText } from "./totals.ts";

/** An agent, and all that it, its children and theirs have made. */
const family = (rt: Runtime): Runtime[] => [rt, ...rt.deps.children(rt).flatMap(family)];

function withChildren(rt: Runtime): [string, string | number][] {
  const all = family(rt);
  if (all.length === 1 && !rt.totals.gone) return [];
  const sum = sumOf(all.map(({ totals }) => totals));
  return [
    ["children", all.length - 1],
    ["usageWithChildren", usageText(sum)],
    ["costWithChildren", costText(sum.cost, sum.unpriced)],
  ];
}

export function statsOf(rt: Runtime): string {
  const { totals } = rt;
  const rows: [key: string, value: string | number][] = [
    ["state", rt.watch.get("state")],
    ["usage", usageText(totals)],
    ["cost", costText(totals.cost, totals.unpriced)],
    ["costLast", costText(totals.costLast, totals.unpricedLast)],
    ["ctxsz", rt.watch.get("ctxsz")],
    ["queued", waiting(rt).length],
    ["held", rt.held ? 1 : 0],
    ["in", totals.input],
    ["out", totals.output],
    ["cached", totals.cached],
    ["cache", cacheText(rt)],
    ["requests", totals.requests],
    ["steps", totals.steps],
    ["messages", rt.history.length],
    ...withChildren(rt),
  ];
  return rows.map(([key, value]) => `${key}=${value}\n`).join("");
}
