/** What a strict Chat Completions provider refuses. Every complaint is a bug of the sender. */

interface Call {
  id?: unknown;
  type?: unknown;
  function?: { name?: unknown; arguments?: unknown };
}
interface Message {
  role?: unknown;
  content?: unknown;
  tool_calls?: Call[];
  tool_call_id?: unknown;
}
interface Body {
  model?: unknown;
  messages?: Message[];
  tools?: { type?: unknown; function?: { name?: unknown; parameters?: { type?: unknown } } }[];
  stream?: unknown;
  stream_options?: { include_usage?: unknown };
}

/** The first thing that is wrong with a request's body, or undefined. */
export function complaint(body: unknown): string | undefined {
  const { model, messages, tools, stream, stream_options } = (body ?? {}) as Body;
  if (typeof model !== "string" || model === "") return "model is missing";
  if (stream !== true || stream_options?.include_usage !== true) return "the stream must be asked for, with usage";
  if (!Array.isArray(messages) || messages.length === 0) return "messages is empty";
  if (JSON.stringify(body).split('"cache_control"').length > 5) return "more than four cache marks";
  return toolsComplaint(tools) ?? historyComplaint(messages);
}

function toolsComplaint(tools: Body["tools"]): string | undefined {
  if (tools === undefined) return undefined;
  if (!Array.isArray(tools) || tools.length === 0) return "tools is empty";
  const names = new Set<unknown>();
  for (const tool of tools) {
    const name = tool.function?.name;
    if (tool.type !== "function") return "a tool is no function";
    if (typeof name !== "string" || !/^[\w-]{1,64}$/.test(name)) return `tool name ${JSON.stringify(name)} is illegal`;
    if (names.has(name)) return `tool ${name} is there twice`;
    if (tool.function?.parameters?.type !== "object") return `tool ${name}: parameters is no schema of an object`;
    names.add(name);
  }
  return undefined;
}

function historyComplaint(messages: Message[]): string | undefined {
  const everSeen = new Set<string>();
  const open = new Set<string>();
  let before: unknown = "start";
  for (const [at, message] of messages.entries()) {
    const where = `messages[${at}]`;
    const { role, content } = message;
    if (role !== "tool" && open.size > 0) return `${where}: calls without a result: ${[...open].join(" ")}`;
    if (role === "system") {
      if (at > 0) return `${where}: system is not the first message`;
      if (blank(content)) return `${where}: content is blank`;
    } else if (role === "user") {
      if (blank(content)) return `${where}: content is blank`;
    } else if (role === "assistant") {
      if (before !== "user" && before !== "tool") return `${where}: assistant follows ${before}`;
      const wrong = assistantComplaint(message, where, everSeen, open);
      if (wrong) return wrong;
    } else if (role === "tool") {
      if (typeof message.tool_call_id !== "string" || !open.delete(message.tool_call_id))
        return `${where}: result without a call: ${JSON.stringify(message.tool_call_id)}`;
      if (blank(content)) return `${where}: content is blank`;
    } else return `${where}: role ${JSON.stringify(role)} is unknown`;
    before = role;
  }
  if (open.size > 0) return `calls without a result at the end: ${[...open].join(" ")}`;
  return before === "user" || before === "tool" ? undefined : `the last message is of role ${before}`;
}

function assistantComplaint(
  { content, tool_calls: calls }: Message,
  where: string,
  everSeen: Set<string>,
  open: Set<string>,
): string | undefined {
  if (calls === undefined) return blank(content) ? `${where}: content is blank` : undefined;
  if (!Array.isArray(calls) || calls.length === 0) return `${where}: tool_calls is empty`;
  if (content !== null && blank(content)) return `${where}: content is blank`;
  for (const call of calls) {
    if (typeof call.id !== "string" || call.id === "") return `${where}: a call has no id`;
    if (everSeen.has(call.id)) return `${where}: call id ${call.id} is there twice`;
    if (call.type !== "function" || !/^[\w-]{1,64}$/.test(String(call.function?.name)))
      return `${where}: call ${call.id} is malformed`;
    if (!isObject(call.function?.arguments)) return `${where}: arguments of ${call.id} are no JSON object`;
    everSeen.add(call.id);
    open.add(call.id);
  }
  return undefined;
}

/** A text, or a list of parts that are texts. */
function blank(content: unknown): boolean {
  if (typeof content === "string") return content.trim() === "";
  if (!Array.isArray(content) || content.length === 0) return true;
  return content.some((part) => part?.type !== "text" || typeof part.text !== "string" || part.text.trim() === "");
}

function isObject(text: unknown): boolean {
  try {
    const value: unknown = JSON.parse(String(text));
    return typeof text === "string" && typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
