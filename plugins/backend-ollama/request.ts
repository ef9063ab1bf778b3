/** Our messages, tools and parameters as the body of /api/chat. */
import type { ChatRequest, Message as WireMessage } from "ollama";
import { legalHistory, type Message, type Params, type ToolSchema } from "#plugins/backends";
import type { ModelFacts } from "./window.ts";

export const provider = "ollama";

const blank = (text: string) => text.trim() === "";

export function bodyOf(
  model: string,
  messages: readonly Message[],
  tools: readonly ToolSchema[],
  params: Params,
  facts: ModelFacts,
  window: number,
): ChatRequest {
  const think = thinkOf(model, params, facts);
  return {
    model,
    messages: messagesOf(messages),
    ...(tools.length > 0 ? { tools: tools.map(toolOf) as NonNullable<ChatRequest["tools"]> } : {}),
    ...(think === undefined ? {} : { think }),
    ...(params.responseFormat?.startsWith("json") ? { format: "json" } : {}),
    options: optionsOf(params, window),
  };
}

const toolOf = ({ name, description, parameters }: ToolSchema) => ({
  type: "function",
  function: { name, description, parameters },
});

/** System messages at the start are one, since templates take one; a later one goes as the user's. */
export function messagesOf(messages: readonly Message[]): WireMessage[] {
  const start = messages.findIndex(({ role }) => role !== "system");
  const head = messages.slice(0, start < 0 ? undefined : start).filter(({ content }) => !blank(content));
  const rest = (start < 0 ? [] : legalHistory(messages.slice(start))).map(messageOf);
  return head.length > 0 ? [{ role: "system", content: head.map((m) => m.content).join("\n\n") }, ...rest] : rest;
}

function messageOf(message: Message): WireMessage {
  if (message.role === "system" || message.role === "user") return { role: "user", content: message.content };
  if (message.role === "tool") {
    const { content, name, toolCallId } = message;
    return { role: "tool", content, tool_name: name, ...{ tool_call_id: toolCallId } };
  }
  const thinking = (message.reasoning ?? [])
    .filter((block) => block.provider === provider)
    .map((block) => block.text)
    .join("\n");
  const calls = (message.toolCalls ?? []).map(({ id, name, args }) => ({ id, function: { name, arguments: args } }));
  return {
    role: "assistant",
    content: blank(message.content) ? "" : message.content,
    ...(thinking === "" ? {} : { thinking }),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
}

function optionsOf(params: Params, window: number): NonNullable<ChatRequest["options"]> {
  const options = {
    num_ctx: window,
    num_predict: params.maxTokens ?? params.maxCompletionTokens,
    temperature: params.temperature,
    top_p: params.topP,
    top_k: params.topK,
    min_p: params.minP,
    repeat_penalty: params.repetitionPenalty,
    frequency_penalty: params.frequencyPenalty,
    presence_penalty: params.presencePenalty,
    stop: params.stop?.length ? params.stop : undefined,
  };
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

/** A model that does not think refuses to be asked; one that does decides by itself where nobody says. */
function thinkOf(model: string, { reasoning, reasoningEffort }: Params, { capabilities }: ModelFacts) {
  if (!capabilities?.includes("thinking")) return undefined;
  const effort = /^(low|medium|high)$/.exec(reasoningEffort ?? "")?.[0] as "low" | "medium" | "high" | undefined;
  // Only this family knows levels.
  if (effort) return model.includes("gpt-oss") ? effort : true;
  return reasoning === undefined ? undefined : reasoning > 0;
}
