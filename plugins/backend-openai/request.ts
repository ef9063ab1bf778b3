/** Our messages, tools and parameters as a Chat Completions body. */
import type {
  ChatCompletionCreateParamsStreaming,
  ChatCompletionMessageParam,
} from "openai/resources/chat/completions";
import { legalHistory, type Message, type Params, type ToolSchema } from "#plugins/backends";
import { markMessages, markTools, wantsMarks } from "./marks.ts";
import { detailsFor } from "./reasoning.ts";
import type { Settings } from "./settings.ts";

const blank = (text: string) => text.trim() === "";

/** OpenAI takes no longer ids, and they come from anywhere where the backend was switched. */
const callId = /^\S{1,40}$/;

/**
 * The history on this wire. System messages at the start are joined into one, since local chat templates take one; a
 * later one goes as the user's, since they take it only in front.
 */
export function messagesOf(messages: readonly Message[], model = ""): ChatCompletionMessageParam[] {
  const start = messages.findIndex((m) => m.role !== "system");
  const head = messages.slice(0, start < 0 ? undefined : start).map((m) => m.content);
  const system = head.filter((text) => !blank(text)).join("\n\n");
  const history = start < 0 ? [] : legalHistory(messages.slice(start), { id: callId });
  const rest = history.map((message) => known(message, model));
  return system === "" ? rest : [{ role: "system", content: system }, ...rest];
}

/** A message is the same object in each request of its agent. */
const made = new WeakMap<Message, { model: string; param: ChatCompletionMessageParam }>();

function known(message: Message, model: string): ChatCompletionMessageParam {
  const before = made.get(message);
  if (before?.model === model) return before.param;
  const param = messageOf(message, model);
  made.set(message, { model, param });
  return param;
}

function messageOf(message: Message, model: string): ChatCompletionMessageParam {
  switch (message.role) {
    case "system":
    case "user":
      return { role: "user", content: message.content };
    case "tool":
      return { role: "tool", tool_call_id: message.toolCallId, content: message.content };
    case "assistant": {
      const calls = (message.toolCalls ?? []).map((call) => ({
        id: call.id,
        type: "function" as const,
        function: { name: call.name, arguments: JSON.stringify(call.args) },
        ...(call.extra?.extra_content === undefined ? {} : { extra_content: call.extra.extra_content }),
      }));
      const details = detailsFor(model, message.reasoning);
      return {
        role: "assistant",
        content: blank(message.content) ? null : message.content,
        ...(calls.length > 0 ? { tool_calls: calls } : {}),
        ...(details.length > 0 ? { reasoning_details: details } : {}),
      };
    }
  }
}

/** The body of a streaming request. OpenAI's own endpoint refuses what others take, and a router takes more. */
export function bodyOf(
  model: string,
  messages: readonly Message[],
  tools: readonly ToolSchema[],
  params: Params,
  { official, router }: Pick<Settings, "official" | "router">,
): ChatCompletionCreateParamsStreaming {
  const marked = wantsMarks(router, model);
  const history = messagesOf(messages, model);
  const functions = tools.map(toolOf);
  const body = {
    model,
    messages: marked ? markMessages(history) : history,
    tools: functions.length > 0 ? (marked ? markTools(functions) : functions) : undefined,
    stream: true as const,
    stream_options: { include_usage: true },
    // max_tokens is refused by the provider's own reasoning models; elsewhere it is the name that all know.
    max_tokens: official ? undefined : params.maxTokens,
    max_completion_tokens: params.maxCompletionTokens ?? (official ? params.maxTokens : undefined),
    temperature: params.temperature,
    top_p: params.topP,
    frequency_penalty: params.frequencyPenalty,
    presence_penalty: params.presencePenalty,
    stop: params.stop?.length ? params.stop : undefined,
    response_format: params.responseFormat ? { type: params.responseFormat as "json_object" } : undefined,
    reasoning_effort: router ? undefined : (effort(model, tools, params, official) as "low" | undefined),
    reasoning: router ? routedReasoning(params) : undefined,
    ...(official ? {} : foreign(params)),
  };
  return Object.fromEntries(
    Object.entries(body).filter(([, value]) => value !== undefined),
  ) as unknown as ChatCompletionCreateParamsStreaming;
}

const toolOf = (tool: ToolSchema) => ({
  type: "function" as const,
  function: { name: tool.name, description: tool.description, parameters: tool.parameters },
});

/** From gpt-5.4 on, the provider takes tools on this wire only without reasoning, and from 5.6 on only if that is said. */
function effort(model: string, tools: readonly ToolSchema[], params: Params, official: boolean): string | undefined {
  const minor = Number(/^gpt-5\.(\d+)/.exec(model)?.[1] ?? 0);
  return official && tools.length > 0 && minor >= 4 ? "none" : params.reasoningEffort;
}

/** A router takes a budget or an effort, not both. */
function routedReasoning({ reasoning, reasoningEffort }: Params): object | undefined {
  if (reasoning) return { max_tokens: reasoning };
  return reasoningEffort ? { effort: reasoningEffort } : undefined;
}

/** Parameters that compatible servers know and the provider itself refuses. */
const foreign = (params: Params) => ({
  include_reasoning: params.includeReasoning,
  top_k: params.topK,
  min_p: params.minP,
  top_a: params.topA,
  repetition_penalty: params.repetitionPenalty,
});
