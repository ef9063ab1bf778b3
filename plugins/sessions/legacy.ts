/** The older saved form, `{"id","agent","messages":[…]}`: one agent. Its messages are shaped as those of today. */
import { isRecord, type Snapshot } from "./snapshot.ts";

/** A snapshot made of the older form; undefined where `value` is not that. `id` and `agentId` are the new UUIDs. */
export function fromLegacy(value: unknown, id: string, agentId: string, created: number): Snapshot | undefined {
  if (!isRecord(value) || value.version !== undefined || value.session !== undefined) return undefined;
  if (typeof value.id !== "string" || !Array.isArray(value.messages)) return undefined;
  const agent = typeof value.agent === "string" && value.agent !== "" ? value.agent : "default";
  const { id: name, agent: _agent, messages, ...rest } = value;
  return {
    seq: 0,
    id,
    name,
    created,
    env: {},
    rows: [],
    unknown: {},
    sections: { ...rest, agents: [{ id: agentId, name: agent, agent, messages: withToolNames(messages) }] },
  };
}

/** The older form does not say in a result which tool gave it. */
function withToolNames(messages: readonly unknown[]): unknown[] {
  const names = new Map<unknown, unknown>();
  return messages.map((message) => {
    if (!isRecord(message)) throw new Error("a message is no object");
    if (Array.isArray(message.tool_calls))
      for (const call of message.tool_calls) if (isRecord(call)) names.set(call.id, call.name);
    return message.role === "tool" ? { name: names.get(message.tool_call_id) ?? "", ...message } : message;
  });
}
