/** What a strict Messages provider refuses. Every complaint is a bug of the sender. */
import type { FakeRequest } from "./scripted.ts";

interface Block {
  type?: unknown;
  text?: unknown;
  id?: unknown;
  name?: unknown;
  input?: unknown;
  tool_use_id?: unknown;
  content?: unknown;
  is_error?: unknown;
  thinking?: unknown;
  signature?: unknown;
  data?: unknown;
}
interface Message {
  role?: unknown;
  content?: Block[];
}
interface Body {
  model?: unknown;
  max_tokens?: unknown;
  stream?: unknown;
  system?: Block[];
  messages?: Message[];
  tools?: { name?: unknown; input_schema?: { type?: unknown } }[];
  thinking?: { type?: unknown; budget_tokens?: unknown; block_binding?: unknown };
  output_config?: { effort?: unknown };
  temperature?: unknown;
  top_p?: unknown;
  top_k?: unknown;
  stop_sequences?: unknown[];
}

const known = new Set(
  "model max_tokens stream system messages tools thinking output_config temperature top_p top_k stop_sequences".split(
    " ",
  ),
);

/** Models of the fake: what they refuse differs. Others take all. */
const modern = /claude-(opus-4-7|opus-5|sonnet-5|fable-5)/;
const budgeted = /claude-(sonnet-4-5|haiku-4-5|opus-4-1)/;

/** The first thing that is wrong with a request, or undefined. */
export function complaint({ body: given, headers }: FakeRequest): string | undefined {
  const body = (given ?? {}) as Body;
  if (!headers["anthropic-version"]) return "anthropic-version: header is required";
  const extra = Object.keys(body).find((key) => !known.has(key));
  if (extra !== undefined) return `${extra}: Extra inputs are not permitted`;
  if (typeof body.model !== "string" || body.model === "") return "model is missing";
  if (!Number.isInteger(body.max_tokens) || (body.max_tokens as number) < 1) return "max_tokens is missing";
  if (body.stream !== true) return "the stream must be asked for";
  if (JSON.stringify(body).split('"cache_control"').length > 5) return "more than four cache marks";
  if (body.stop_sequences?.some((text) => typeof text !== "string" || text.trim() === ""))
    return "stop_sequences: each must contain non-whitespace";
  return (
    systemComplaint(body.system) ??
    toolsComplaint(body.tools) ??
    thinkingComplaint(body, String(headers["anthropic-beta"] ?? "")) ??
    historyComplaint(body.messages)
  );
}

function systemComplaint(system: Body["system"]): string | undefined {
  if (system === undefined) return undefined;
  if (!Array.isArray(system) || system.length === 0) return "system is empty";
  return system.some(({ type, text }) => type !== "text" || blank(text)) ? "system: text is blank" : undefined;
}

function toolsComplaint(tools: Body["tools"]): string | undefined {
  if (tools === undefined) return undefined;
  if (!Array.isArray(tools) || tools.length === 0) return "tools is empty";
  const names = new Set<unknown>();
  for (const { name, input_schema } of tools) {
    if (typeof name !== "string" || !/^[\w-]{1,64}$/.test(name)) return `tool name ${JSON.stringify(name)} is illegal`;
    if (names.has(name)) return `tool ${name} is there twice`;
    if (input_schema?.type !== "object") return `tool ${name}: input_schema is no schema of an object`;
    names.add(name);
  }
  return undefined;
}

function thinkingComplaint(body: Body, betas: string): string | undefined {
  const { model, thinking, max_tokens, temperature, top_p, top_k, output_config } = body;
  const sampled = [temperature, top_p, top_k].some((value) => value !== undefined);
  if (modern.test(String(model)) && sampled) return "temperature, top_p and top_k are not supported by this model";
  if (budgeted.test(String(model))) {
    if (temperature !== undefined && top_p !== undefined) return "temperature and top_p cannot both be specified";
    if (output_config !== undefined) return "this model does not support effort";
  }
  if (typeof temperature === "number" && (temperature < 0 || temperature > 1)) return "temperature: must be in 0..1";
  if (thinking === undefined || thinking.type === "disabled") return undefined;
  if (thinking.block_binding !== undefined && !betas.includes("thinking-binding-controls"))
    return "thinking.block_binding: Extra inputs are not permitted";
  if (thinking.type === "adaptive" && budgeted.test(String(model))) return "adaptive thinking is not supported";
  if (thinking.type === "enabled") {
    if (modern.test(String(model))) return '"thinking.type.enabled" is not supported for this model';
    const budget = thinking.budget_tokens;
    if (typeof budget !== "number" || budget < 1024) return "thinking.budget_tokens: must be at least 1024";
    if (budget >= (max_tokens as number)) return "max_tokens must be greater than thinking.budget_tokens";
    const last = body.messages?.at(-1)?.content;
    const before = body.messages?.at(-2)?.content?.[0]?.type;
    if (Array.isArray(last) && last.some(({ type }) => type === "tool_result") && !/thinking$/.test(String(before)))
      return `Expected thinking or redacted_thinking, but found ${before}`;
  }
  if ((temperature !== undefined && temperature !== 1) || top_k !== undefined)
    return "temperature may only be set to 1 when thinking is enabled";
  return typeof top_p === "number" && top_p < 0.95 ? "top_p must be at least 0.95 with thinking" : undefined;
}

function historyComplaint(messages: Body["messages"]): string | undefined {
  if (!Array.isArray(messages) || messages.length === 0) return "messages is empty";
  const everSeen = new Set<string>();
  let open = new Set<string>();
  for (const [at, { role, content }] of messages.entries()) {
    const where = `messages.${at}`;
    const expected = at % 2 === 0 ? "user" : "assistant";
    if (role !== expected) return `${where}: role ${JSON.stringify(role)} where ${expected} is expected`;
    if (!Array.isArray(content) || content.length === 0) return `${where}: content is empty`;
    const results = content.filter(({ type }) => type === "tool_result");
    if (role === "user") {
      for (const { tool_use_id, content: said, is_error } of results) {
        if (!open.delete(String(tool_use_id))) return `${where}: unexpected tool_use_id ${tool_use_id}`;
        if (blank(said)) return `${where}: result of ${tool_use_id} is blank`;
        if (is_error !== undefined && typeof is_error !== "boolean") return `${where}: is_error is no boolean`;
      }
      if (open.size > 0) return `${where}: tool_use ids without tool_result: ${[...open].join(" ")}`;
      if (content.slice(0, results.length).some(({ type }) => type !== "tool_result"))
        return `${where}: tool_result blocks must come first`;
      if (content.some(({ type, text }) => type !== "tool_result" && (type !== "text" || blank(text))))
        return `${where}: text content blocks must be non-empty`;
    } else {
      open = new Set();
      const wrong = replyComplaint(content, where, everSeen, open);
      if (wrong) return wrong;
    }
  }
  return messages.length % 2 === 0 ? "the last message is the assistant's" : undefined;
}

function replyComplaint(content: Block[], where: string, everSeen: Set<string>, open: Set<string>): string | undefined {
  for (const [n, block] of content.entries()) {
    const here = `${where}.content.${n}`;
    if (block.type === "text") {
      if (blank(block.text)) return `${here}: text content blocks must be non-empty`;
    } else if (block.type === "thinking") {
      if (typeof block.thinking !== "string") return `${here}.thinking: field required`;
      if (typeof block.signature !== "string" || block.signature === "") return `${here}.signature: field required`;
    } else if (block.type === "redacted_thinking") {
      if (typeof block.data !== "string" || block.data === "") return `${here}.data: field required`;
    } else if (block.type === "tool_use") {
      const id = String(block.id);
      if (!/^[A-Za-z0-9_-]+$/.test(id)) return `${here}.id: ${JSON.stringify(id)} is illegal`;
      if (everSeen.has(id)) return `${here}: tool_use ids must be unique: ${id}`;
      if (typeof block.input !== "object" || block.input === null || Array.isArray(block.input))
        return `${here}.input: should be a valid dictionary`;
      everSeen.add(id);
      open.add(id);
    } else return `${here}: type ${JSON.stringify(block.type)} is unknown`;
  }
  return undefined;
}

const blank = (content: unknown) => typeof content !== "string" || content.trim() === "";
