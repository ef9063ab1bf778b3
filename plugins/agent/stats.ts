/** `stats`: one key=value a line. */
import { type Runtime, waiting } from "./runtime.ts";
import { dollars, usageText } from "./totals.ts";

export function statsOf(rt: Runtime): string {
  const { totals } = rt;
  const rows: [key: string, value: string | number][] = [
    ["state", rt.watch.get("state")],
    ["usage", usageText(totals)],
    ["cost", dollars(totals.cost)],
    ["costLast", dollars(totals.costLast)],
    ["ctxsz", rt.watch.get("ctxsz")],
    ["queued", waiting(rt).length],
    ["held", rt.held ? 1 : 0],
    ["in", totals.input],
    ["out", totals.output],
    ["cached", totals.cached],
    ["requests", totals.requests],
    ["steps", totals.steps],
    ["messages", rt.history.messages.length],
  ];
  return rows.map(([key, value]) => `${key}=${value}\n`).join("");
}
