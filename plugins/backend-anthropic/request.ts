/** Our messages, tools and parameters as the body of a Messages request. */
import type { MessageParam, Tool } from "@anthropic-ai/sdk/resources/messages";
import type { Message, Params, ToolSchema } from "#plugins/backends";
import { type Abilities, abilitiesOf } from "./abilities.ts";
import { historyOf } from "./history.ts";
import { markHistory, markLast } from "./marks.ts";

export interface Request {
  body: Record<string, unknown>;
  /** Names for the beta header. */
  betas: string[];
}

/** Fewest tokens that a budget may have. */
const leastBudget = 1_024;

export function requestOf(
  model: string,
  messages: readonly Message[],
  tools: readonly ToolSchema[],
  params: Params,
): Request {
  const can = abilitiesOf(model);
  const history = historyOf(messages);
  const { max_tokens, thinking, betas } = limitsOf(params, can, mayThink(history.messages), tools.length > 0);
  const body = {
    model,
    max_tokens,
    system: history.system.length > 0 ? markLast(history.system) : undefined,
    messages: markHistory(history.messages),
    tools: tools.length > 0 ? markLast(tools.map(toolOf)) : undefined,
    stream: true,
    thinking,
    output_config: effortOf(params, can),
    stop_sequences: stopsOf(params),
    ...samplingOf(params, can, thinking !== undefined),
  };
  return { body: Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined)), betas };
}

const toolOf = ({ name, description, parameters }: ToolSchema): Tool => ({
  name,
  description,
  input_schema: { ...parameters, type: "object" },
});

/** In the middle of a tool round, thinking with a budget goes on only where the round began with it. */
function mayThink(messages: readonly MessageParam[]): boolean {
  const last = messages.at(-1)?.content;
  if (!Array.isArray(last) || !last.some(({ type }) => type === "tool_result")) return true;
  const before = messages.at(-2)?.content;
  return Array.isArray(before) && /thinking$/.test(before[0]?.type ?? "");
}

interface Limits {
  max_tokens: number;
  thinking: object | undefined;
  betas: string[];
}

/** How much may be written, and thought: a budget is part of the whole, and below it. */
function limitsOf(params: Params, can: Abilities, legal: boolean, tools: boolean): Limits {
  const set = params.maxTokens ?? params.maxCompletionTokens;
  const asked = (params.reasoning ?? 0) > 0 || (params.reasoning === undefined && effortName(params) !== undefined);
  if (can.thinking === "adaptive") {
    // Thoughts that no longer fit their history (tools were loaded, history was compacted) are dropped, not refused.
    const bound = can.bound ? { block_binding: { prefix_mismatch_behavior: "drop_block" } } : {};
    const shown = asked && can.sampling === "none" ? { display: "summarized" } : {};
    return {
      max_tokens: set ?? can.output,
      thinking: asked || can.bound ? { type: "adaptive", ...shown, ...bound } : undefined,
      betas: can.bound ? ["thinking-binding-controls-2026-08-01"] : [],
    };
  }
  const wanted = Math.max(params.reasoning ?? 0, leastBudget);
  const max_tokens = set ?? can.output + (params.reasoning ? wanted : 0);
  const budget = Math.min(wanted, max_tokens - 1);
  if (!params.reasoning || can.thinking === "none" || !legal || budget < leastBudget)
    return { max_tokens, thinking: undefined, betas: [] };
  return {
    max_tokens,
    thinking: { type: "enabled", budget_tokens: budget },
    betas: can.interleaves && tools ? ["interleaved-thinking-2025-05-14"] : [],
  };
}

const efforts: Record<string, string> = {
  minimal: "low",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "xhigh",
  max: "max",
};

const effortName = ({ reasoningEffort = "" }: Params): string | undefined =>
  Object.hasOwn(efforts, reasoningEffort) ? efforts[reasoningEffort] : undefined;

function effortOf(params: Params, can: Abilities): object | undefined {
  const effort = effortName(params);
  if (effort === undefined || !can.effort) return undefined;
  // The two highest came with the models that take no sampling.
  return { effort: can.sampling !== "none" && (effort === "xhigh" || effort === "max") ? "high" : effort };
}

/** Blank ones are refused. */
function stopsOf({ stop = [] }: Params): string[] | undefined {
  const legal = stop.filter((text) => text.trim() !== "");
  return legal.length > 0 ? legal : undefined;
}

/** Thinking goes with no temperature, and with top_p near one only. */
function samplingOf({ temperature, topP, topK }: Params, can: Abilities, thinks: boolean): object {
  if (can.sampling === "none") return {};
  if (thinks) return topP !== undefined && topP >= 0.95 ? { top_p: topP } : {};
  const heat = temperature === undefined ? undefined : Math.min(Math.max(temperature, 0), 1);
  const alone = can.sampling === "one" && heat !== undefined;
  return { temperature: heat, top_p: alone ? undefined : topP, top_k: topK };
}
