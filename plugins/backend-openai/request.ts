/** Our messages, tools and parameters as a Chat Completions body. */
import type {
  ChatCompletionCreateParamsStreaming,
  ChatCompletionMessageParam,
} from "openai/resources/chat/completions";
import type { Message, Params, ToolSchema } from "#plugins/backends";

const blank = (text: string) => text.trim() === "";

/**
 * The history on this wire. Blank messages are left out: providers refuse blank blocks, for ever, since the history is
 * sent again. System messages at the start are joined into one, since local chat templates take one; a later one goes as
 * the user's, since they take it only in front.
 */
export function messagesOf(messages: readonly Message[]): ChatCompletionMessageParam[] {
  const start = messages.findIndex((m) => m.role !== "system");
  const head = messages.slice(0, start < 0 ? undefined : start).map((m) => m.content);
  const system = head.filter((text) => !blank(text)).join("\n\n");
  const rest = (start < 0 ? [] : messages.slice(start)).flatMap((m) => messageOf(m));
  return system === "" ? rest : [{ role: "system", content: system }, ...rest];
}

function messageOf(message: Message): ChatCompletionMessageParam[] {
  switch (message.role) {
    case "system":
    case "user":
      return blank(message.content) ? [] : [{ role: "user", content: message.content }];
    case "tool": {
      const content = blank(message.content) ? "(no output)" : message.content;
      return [{ role: "tool", tool_call_id: message.toolCallId, content }];
    }
    case "assistant": {
      const calls = (message.toolCalls ?? []).map((call) => ({
        id: call.id,
        type: "function" as const,
        function: { name: call.name, arguments: JSON.stringify(call.args) },
        ...(call.extra?.extra_content === undefined ? {} : { extra_content: call.extra.extra_content }),
      }));
      const content = blank(message.content) ? null : message.content;
      if (calls.length > 0) return [{ role: "assistant", content, tool_calls: calls }];
      return content === null ? [] : [{ role: "assistant", content }];
    }
  }
}

/** The body of a streaming request. `official`: the provider's own endpoint, which refuses what others take. */
export function bodyOf(
  model: string,
  messages: readonly Message[],
  tools: readonly ToolSchema[],
  params: Params,
  official: boolean,
): ChatCompletionCreateParamsStreaming {
  const body = {
    model,
    messages: messagesOf(messages),
    tools: tools.length > 0 ? tools.map(toolOf) : undefined,
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
    reasoning_effort: effort(model, tools, params, official) as "low" | undefined,
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

/** Parameters that compatible servers know and the provider itself refuses. */
const foreign = (params: Params) => ({
  include_reasoning: params.includeReasoning,
  top_k: params.topK,
  min_p: params.minP,
  top_a: params.topA,
  repetition_penalty: params.repetitionPenalty,
});
