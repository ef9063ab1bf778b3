/** Our messages and tools as a conversationState. Generation parameters have no place in it. */
import { randomUUID } from "node:crypto";
import { legalHistory, type Message, type ToolSchema } from "#plugins/backends";

interface ToolResult {
  toolUseId: string;
  status: "success" | "error";
  content: ({ text: string } | { json: object })[];
}
interface UserMessage {
  content: string;
  origin: string;
  modelId: string;
  userInputMessageContext?: { toolResults?: ToolResult[]; tools?: object[] };
}
interface AssistantMessage {
  content: string;
  toolUses?: { toolUseId: string; name: string; input: object }[];
}
export type Entry = { userInputMessage: UserMessage } | { assistantResponseMessage: AssistantMessage };

const origin = "KIRO_CLI";

/** Names of other providers' models are not known here. */
export const modelId = (model: string): string => (model === "" || /[/:]/.test(model) ? "auto" : model);

export function bodyOf(
  model: string,
  messages: readonly Message[],
  tools: readonly ToolSchema[],
  profileArn: string | undefined,
): Record<string, unknown> {
  const entries = entriesOf(messages, modelId(model));
  const last = entries.pop() as { userInputMessage: UserMessage };
  const specs = [...tools.map(specOf), ...absentTools(messages, tools)];
  if (specs.length > 0) {
    const { userInputMessage: message } = last;
    message.userInputMessageContext = { ...message.userInputMessageContext, tools: specs };
  }
  return {
    conversationState: {
      conversationId: randomUUID(),
      agentContinuationId: randomUUID(),
      agentTaskType: "vibe",
      chatTriggerType: "MANUAL",
      history: entries,
      currentMessage: last,
    },
    ...(profileArn ? { profileArn } : {}),
  };
}

/** Users and assistants in turns, a user last. There is no place for a system message: it leads the first user's. */
export function entriesOf(messages: readonly Message[], model: string): Entry[] {
  const entries: Entry[] = [];
  const system = messages.filter(({ role, content }) => role === "system" && content.trim() !== "");
  const said = legalHistory(messages.filter(({ role }) => role !== "system"));
  for (const message of said) {
    if (message.role === "assistant") {
      entries.push({ assistantResponseMessage: assistantOf(message) });
      continue;
    }
    const made = message.role === "tool" ? resultsOf(message) : { content: message.content };
    const last = entries.at(-1);
    if (last && "userInputMessage" in last) join(last.userInputMessage, made);
    else entries.push({ userInputMessage: { ...made, origin, modelId: model } });
  }
  if (entries.length === 0) entries.push({ userInputMessage: { content: "Go on.", origin, modelId: model } });
  const [first] = entries;
  if (first && "userInputMessage" in first && system.length > 0) {
    const message = first.userInputMessage;
    message.content = [...system.map(({ content }) => content), message.content].join("\n\n");
  }
  return entries;
}

type Made = Pick<UserMessage, "content" | "userInputMessageContext">;

function join(to: UserMessage, { content, userInputMessageContext: more }: Made): void {
  const before = to.userInputMessageContext?.toolResults ?? [];
  const results = [...before, ...(more?.toolResults ?? [])];
  // Results that follow results need no words of their own.
  if (!more || before.length === 0) to.content = `${to.content}\n\n${content}`;
  if (results.length > 0) to.userInputMessageContext = { toolResults: results };
}

function resultsOf({ toolCallId, content, isError }: Extract<Message, { role: "tool" }>): Made {
  const result: ToolResult = {
    toolUseId: toolCallId,
    status: isError ? "error" : "success",
    content: [contentOf(content)],
  };
  return { content: "Tool results.", userInputMessageContext: { toolResults: [result] } };
}

/** As JSON only where it is an object: anything else in that field is refused, with each later request of the session too. */
function contentOf(text: string): { text: string } | { json: object } {
  if (!text.trimStart().startsWith("{")) return { text };
  try {
    return { json: JSON.parse(text) as object };
  } catch {
    return { text };
  }
}

function assistantOf({ content, toolCalls }: Extract<Message, { role: "assistant" }>): AssistantMessage {
  const toolUses = (toolCalls ?? []).map(({ id, name, args }) => ({ toolUseId: id, name, input: args }));
  return { content: content.trim() === "" ? "" : content, ...(toolUses.length > 0 ? { toolUses } : {}) };
}

const specOf = ({ name, description, parameters }: ToolSchema) => ({
  toolSpecification: { name, description: description || name, inputSchema: { json: parameters } },
});

/** A history with calls of a tool that the request does not offer is refused: such tools are named, and no more. */
function absentTools(messages: readonly Message[], tools: readonly ToolSchema[]): object[] {
  const offered = new Set(tools.map(({ name }) => name));
  const called = messages.flatMap((m) => (m.role === "assistant" ? (m.toolCalls ?? []) : []));
  const absent = new Set(called.map(({ name }) => name).filter((name) => !offered.has(name)));
  const parameters = { type: "object", properties: {} };
  return [...absent].map((name) => specOf({ name, description: "not available now", parameters }));
}
