/** What a request looks like to a scenario: which reply fits it, and what templates may say. */
import type { Message, ToolSchema } from "#plugins/backends";
import type { Reply, Scenario, When } from "./scenario.ts";

/** A request, seen from its end. */
export interface Moment {
  /** The last user message. */
  prompt: string;
  /** Tool results at the request's end, in order. */
  results: { tool: string; content: string }[];
  offered: string[];
  model: string;
  /** Groups of the reply's pattern. */
  match: RegExpMatchArray | undefined;
}

export function momentOf(messages: readonly Message[], tools: readonly ToolSchema[], model: string): Moment {
  // A prompt behind the results of a stopped turn is a fresh one.
  const since = messages.slice(messages.findLastIndex((m) => m.role !== "tool") + 1);
  return {
    prompt: messages.findLast((m) => m.role === "user")?.content ?? "",
    results: since.flatMap((m) => (m.role === "tool" ? [{ tool: m.name, content: m.content }] : [])),
    offered: tools.map((tool) => tool.name),
    model,
    match: undefined,
  };
}

/**
 * The first reply that is not used up and fits; it counts as used. `used` holds how often each was taken, by its place,
 * and belongs to one agent unless the scenario is shared.
 */
export function pick(scenario: Scenario, used: Map<number, number>, moment: Moment): Reply | undefined {
  for (const [at, reply] of scenario.replies.entries()) {
    const times = used.get(at) ?? 0;
    if (reply.repeat !== "always" && times >= (reply.repeat ?? 1)) continue;
    const match = fits(reply.when ?? {}, moment);
    if (match === false) continue;
    used.set(at, times + 1);
    moment.match = match;
    return reply;
  }
  return undefined;
}

/** False, or the groups of its pattern (of `prompt` where both are given), or undefined where it has none. */
function fits(when: When, moment: Moment): RegExpMatchArray | undefined | false {
  const last = moment.results.at(-1);
  if (when.offers !== undefined && !moment.offered.includes(when.offers)) return false;
  if (when.tool !== undefined && when.tool !== last?.tool) return false;
  const onResult = when.result === undefined ? undefined : last?.content.match(new RegExp(when.result, "s"));
  if (when.result !== undefined && !onResult) return false;
  if (when.prompt === undefined) return onResult ?? undefined;
  if (last && when.result === undefined && when.tool === undefined) return false;
  return moment.prompt.match(new RegExp(when.prompt, "s")) ?? false;
}

/** Fills `{{name}}` in a text. What is unknown or missing becomes nothing. */
export function fill(text: string, moment: Moment): string {
  return text.replace(/\{\{\s*([\w.]+)\s*\}\}/g, (_, name: string) => value(name, moment) ?? "");
}

/** Fills all strings of a JSON value; keys stay. */
export function fillAll(value: unknown, moment: Moment): unknown {
  if (typeof value === "string") return fill(value, moment);
  if (Array.isArray(value)) return value.map((item) => fillAll(item, moment));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fillAll(item, moment)]));
}

function value(name: string, moment: Moment): string | undefined {
  const [head = "", key] = name.split(".", 2);
  switch (head) {
    case "prompt":
      return moment.prompt;
    case "result":
      return (key === undefined ? moment.results.at(-1) : moment.results[Number(key)])?.content;
    case "tool":
      return moment.results.at(-1)?.tool;
    case "tools":
      return moment.offered.join(" ");
    case "model":
      return moment.model;
    case "match":
      return key === undefined || /^\d+$/.test(key) ? moment.match?.[Number(key ?? 0)] : moment.match?.groups?.[key];
    default:
      return undefined;
  }
}
