/** Frames of one reply as stream events. The protocol has no end mark and no usage: its end is that of the body. */
import { randomUUID } from "node:crypto";
import type { Failures, StreamEvent, Usage } from "#plugins/backends";
import { exception } from "./errors.ts";
import type { Frame } from "./frames.ts";

interface Payload {
  content?: unknown;
  text?: unknown;
  toolUseId?: unknown;
  name?: unknown;
  input?: unknown;
  stop?: unknown;
}

interface Slot {
  id: string;
  name: string;
  args: string;
  whole: boolean;
}

export interface Reply {
  /** The events of a frame. Throws BackendError for an exception. */
  take(frame: Frame): StreamEvent[];
  /** What the end brings. Throws BackendError where the reply broke off. `sent`: characters of the request. */
  end(sent: number): StreamEvent[];
}

export function reply(fail: Failures): Reply {
  const slots = new Map<string, Slot>();
  let received = 0;
  let any = false;

  function tool({ toolUseId, name, input, stop }: Payload): StreamEvent[] {
    const id = typeof toolUseId === "string" && toolUseId !== "" ? toolUseId : "";
    // A fragment without an id belongs to the call that is under way.
    const open = id === "" ? [...slots.values()].findLast((slot) => !slot.whole) : slots.get(id);
    const slot = open ?? { id: id || `call_${randomUUID()}`, name: "", args: "", whole: false };
    slots.set(slot.id, slot);
    if (typeof name === "string" && name !== "") slot.name = name;
    if (typeof input === "string") slot.args += input;
    else if (typeof input === "object" && input !== null && Object.keys(input).length > 0)
      slot.args = JSON.stringify(input);
    slot.whole ||= stop === true;
    return [];
  }

  return {
    take({ kind, type, text }) {
      if (kind !== "event") throw exception(type, text);
      const payload = payloadOf(text, fail);
      any = true;
      if (type === "toolUseEvent") return tool(payload);
      if (type === "invalidStateEvent" || type === "error") throw exception(type, text);
      const said = type === "assistantResponseEvent" ? payload.content : undefined;
      const thought = type === "reasoningContentEvent" ? payload.text : undefined;
      const piece = said ?? thought;
      if (typeof piece !== "string" || piece === "") return [];
      received += piece.length;
      return [{ type: said === undefined ? "reasoning" : "text", text: piece }];
    },
    end(sent) {
      const calls = [...slots.values()].filter(({ name }) => name !== "");
      if (!any) throw fail.broken("the stream ended before it said anything");
      if (calls.some(({ whole }) => !whole)) throw fail.broken("the stream ended inside of a tool call");
      for (const { args } of calls) received += args.length;
      return [
        ...calls.map(({ id, name, args }): StreamEvent => ({ type: "call", id, name, args })),
        { type: "usage", usage: estimate(sent, received) },
        { type: "done", stop: calls.length > 0 ? "tool_calls" : "stop" },
      ];
    },
  };
}

function payloadOf(text: string, fail: Failures): Payload {
  if (text.trim() === "") return {};
  try {
    return JSON.parse(text) as Payload;
  } catch {
    throw fail.broken(`the stream is broken: an event is not JSON: ${text.slice(0, 80)}`);
  }
}

/** Four characters a token. */
const estimate = (sent: number, received: number): Usage => ({
  input: Math.ceil(sent / 4),
  output: Math.ceil(received / 4),
  estimated: true,
});
