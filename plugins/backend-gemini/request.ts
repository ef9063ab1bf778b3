/** Our messages, tools and parameters as the body of generateContent. */
import {
  legalHistory,
  type Message,
  type Params,
  type ReasoningBlock,
  type ToolCall,
  type ToolSchema,
} from "#plugins/backends";
import { parametersOf } from "./schema.ts";
import { type CallMarks, type Content, type Part, provider, type SignedText } from "./wire.ts";

/** Stands for the signature of a call that another model made; the provider's documentation names it for that. */
const foreign = "skip_thought_signature_validator";

const blank = (text: string) => text.trim() === "";

export function bodyOf(
  model: string,
  messages: readonly Message[],
  tools: readonly ToolSchema[],
  params: Params,
): Record<string, unknown> {
  const start = messages.findIndex(({ role }) => role !== "system");
  const head = messages.slice(0, start < 0 ? undefined : start).filter(({ content }) => !blank(content));
  const config = configOf(model, params);
  return {
    ...(head.length > 0 ? { systemInstruction: { parts: [{ text: head.map((m) => m.content).join("\n\n") }] } } : {}),
    contents: contentsOf(start < 0 ? [] : legalHistory(messages.slice(start)), model),
    ...(tools.length > 0 ? { tools: [{ functionDeclarations: tools.map(declarationOf) }] } : {}),
    ...(Object.keys(config).length > 0 ? { generationConfig: config } : {}),
  };
}

function declarationOf({ name, description, parameters: schema }: ToolSchema): Record<string, unknown> {
  const parameters = parametersOf(schema);
  return { name, description, ...(parameters ? { parameters } : {}) };
}

/** Roles alternate: what follows on the same side is joined. */
export function contentsOf(messages: readonly Message[], model: string): Content[] {
  const contents: Content[] = [];
  const calls = new Map<string, ToolCall>();
  for (const message of messages) {
    const { role, parts } = contentOf(message, calls, model);
    const last = contents.at(-1);
    if (last?.role === role) last.parts.push(...parts);
    else contents.push({ role, parts });
  }
  return contents;
}

function contentOf(message: Message, calls: Map<string, ToolCall>, model: string): Content {
  if (message.role === "assistant") {
    for (const call of message.toolCalls ?? []) calls.set(call.id, call);
    const parts = [
      ...textParts(message.content, message.reasoning ?? []),
      ...callParts(message.toolCalls ?? [], model),
    ];
    return { role: "model", parts };
  }
  if (message.role !== "tool") return { role: "user", parts: [{ text: message.content }] };
  const call = calls.get(message.toolCallId);
  const id = call && marksOf(call)?.id;
  const response = message.isError ? { error: message.content } : { output: message.content };
  const name = call?.name ?? message.name;
  return { role: "user", parts: [{ functionResponse: { ...(id ? { id } : {}), name, response } }] };
}

/** The text in the parts in which it came where they are signed: a signature holds for its part alone. */
function textParts(text: string, reasoning: readonly ReasoningBlock[]): Part[] {
  const parts: Part[] = [];
  let at = 0;
  for (const { provider: from, signature, data } of reasoning) {
    const span = data as SignedText | undefined;
    if (from !== provider || !signature || !span || span.from < at || span.to > text.length) continue;
    if (span.from > at) parts.push({ text: text.slice(at, span.from) });
    parts.push({ text: text.slice(span.from, span.to), thoughtSignature: signature });
    at = span.to;
  }
  if (!blank(text.slice(at))) parts.push({ text: text.slice(at) });
  return parts;
}

function callParts(calls: readonly ToolCall[], model: string): Part[] {
  // Models from 3 on refuse a step of the present turn whose first call has no signature.
  const strange = calls.every((call) => marksOf(call) === undefined) && !/^gemini-[12]\b/.test(model);
  return calls.map((call, at): Part => {
    const { id, thoughtSignature = strange && at === 0 ? foreign : undefined } = marksOf(call) ?? {};
    return {
      functionCall: { ...(id ? { id } : {}), name: call.name, args: call.args },
      ...(thoughtSignature ? { thoughtSignature } : {}),
    };
  });
}

/** undefined: another provider's call. */
function marksOf({ extra }: ToolCall): CallMarks | undefined {
  const marks = extra?.[provider];
  return typeof marks === "object" && marks !== null ? marks : undefined;
}

function configOf(model: string, params: Params): Record<string, unknown> {
  const thinking = thinkingOf(model, params);
  const config = {
    temperature: params.temperature,
    topP: params.topP,
    topK: params.topK,
    maxOutputTokens: params.maxTokens ?? params.maxCompletionTokens,
    presencePenalty: params.presencePenalty,
    frequencyPenalty: params.frequencyPenalty,
    stopSequences: params.stop?.length ? params.stop : undefined,
    responseMimeType: params.responseFormat?.startsWith("json") ? "application/json" : undefined,
    thinkingConfig: thinking && Object.keys(thinking).length > 0 ? thinking : undefined,
  };
  return Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined));
}

const budgets: Record<string, number> = { minimal: 512, low: 1_024, medium: 8_192, high: 24_576 };

/** Models up to 2.5 take a budget in tokens, later ones a level; both at once are refused. */
function thinkingOf(model: string, { reasoning, reasoningEffort, includeReasoning }: Params) {
  const asked = (reasoning ?? 0) > 0 || Boolean(reasoningEffort);
  const shown = (includeReasoning ?? asked) ? { includeThoughts: true } : {};
  if (/^gemini-2\.5\b/.test(model)) {
    const budget = reasoning ?? budgets[reasoningEffort ?? ""];
    return { ...shown, ...(budget === undefined ? {} : { thinkingBudget: budget }) };
  }
  if (/^gemini-[12]\b/.test(model)) return undefined;
  return { ...shown, ...(reasoningEffort ? { thinkingLevel: reasoningEffort } : {}) };
}
