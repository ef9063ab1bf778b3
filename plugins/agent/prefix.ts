/**
 * What a request has in common with the one before it: providers keep that, and bill it at a fraction. Watched so that
 * `stats` can say what broke it.
 */
import type { Message, ToolSchema } from "#plugins/backends";
import type { Runtime } from "./runtime.ts";

interface Last {
  model: string;
  tools: readonly ToolSchema[];
  messages: readonly Message[];
  /** Requests that did not begin as the one before them. */
  broken: number;
  /** The part that changed last. */
  by: string;
}

const last = new WeakMap<Runtime, Last>();

/** Before a request leaves. */
export function watchPrefix(rt: Runtime, messages: readonly Message[], tools: readonly ToolSchema[]): void {
  const { name, model } = rt.provider;
  const now = { model: `${name}/${model}`, tools, messages };
  const before = last.get(rt);
  const change = before && changed(before, now);
  last.set(rt, {
    ...now,
    broken: (before?.broken ?? 0) + (change ? 1 : 0),
    by: change ?? before?.by ?? "",
  });
}

/** Lets go of the last request's messages: the next one is compared with none. */
export function forgetPrefix(rt: Runtime): void {
  const before = last.get(rt);
  if (before) last.set(rt, { ...before, messages: [] });
}

/** The first part of the prefix that is not as it was; undefined: all of it is. */
function changed(before: Last, now: Omit<Last, "broken" | "by">): string | undefined {
  if (before.model !== now.model) return "the model";
  if (!alike(before.tools, now.tools)) return "the tools";
  for (let at = 0; at < before.messages.length; at++) {
    const message = before.messages[at] as Message;
    const other = now.messages[at];
    if (other === message || JSON.stringify(other) === JSON.stringify(message)) continue;
    return message.role === "system" && at === 0 ? "the system prompt" : "the history";
  }
  return undefined;
}

/** A schema is the same object as long as its tool did not change. */
const alike = (before: readonly ToolSchema[], now: readonly ToolSchema[]): boolean =>
  before.length === now.length &&
  before.every((tool, at) => tool === now[at] || JSON.stringify(tool) === JSON.stringify(now[at]));

/** For `stats`: tokens that came from caches, and what broke the prefix. */
export function cacheText(rt: Runtime): string {
  const { cached, input, written } = rt.totals;
  const share = input === 0 ? 0 : Math.floor((cached * 100) / input);
  const broken = last.get(rt)?.broken ?? 0;
  const why = broken === 0 ? "" : `; prefix broken ${broken} times, last by ${last.get(rt)?.by}`;
  return `${cached} of ${input} (${share}%), ${written} written${why}`;
}
