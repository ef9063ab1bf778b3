/** The older saved form, `{"id","agent","messages":[…]}`: one agent, messages in the wire's shape. */
import type { Message, ToolCall } from "#plugins/backends";
import { isRecord, type Snapshot } from "./snapshot.ts";

/** A snapshot made of the older form; undefined where `value` is not that. `id` and `agentId` are the new UUIDs. */
export function fromLegacy(value: unknown, id: string, agentId: string, created: number): Snapshot | undefined {
  if (!isRecord(value) || value.version !== undefined || value.session !== undefined) return undefined;
  if (typeof value.id !== "string" || !Array.isArray(value.messages)) return undefined;
  const agent = typeof value.agent === "string" && value.agent !== "" ? value.agent : "default";
  const { id: _id, agent: _agent, messages, ...rest } = value;
  return {
    seq: 0,
    id,
    name: value.id,
    created,
    env: {},
    rows: [],
    unknown: {},
    sections: { ...rest, agents: [{ id: agentId, name: agent, agent, messages: convert(messages) }] },
  };
}

function convert(messages: readonly unknown[]): Message[] {
  const names = new Map<string, string>();
  const converted: Message[] = [];
  for (const message of messages) {
    if (!isRecord(message)) throw new Error("a message is no object");
    const content = typeof message.content === "string" ? message.content : "";
    switch (message.role) {
      case "system":
      case "user":
        converted.push({ role: message.role, content });
        break;
      case "assistant": {
        const calls = Array.isArray(message.tool_calls) ? message.tool_calls.filter(isRecord).map(call) : [];
        for (const { id, name } of calls) names.set(id, name);
        converted.push({ role: "assistant", content, ...(calls.length > 0 && { toolCalls: calls }) });
        break;
      }
      case "tool": {
        const toolCallId = String(message.tool_call_id ?? "");
        converted.push({ role: "tool", toolCallId, name: names.get(toolCallId) ?? "", content });
        break;
      }
      default:
        throw new Error(`a message has the unknown role ${JSON.stringify(message.role)}`);
    }
  }
  return converted;
}

const call = (value: Record<string, unknown>): ToolCall => ({
  id: String(value.id ?? ""),
  name: String(value.name ?? ""),
  args: isRecord(value.arguments) ? value.arguments : {},
});
