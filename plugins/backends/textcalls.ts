/**
 * Tool calls that a model wrote into its text, as local models do where their template or server does not know the call
 * channel (forms: textforms.ts). A block whose arguments parse becomes a call. One that names a tool and does not parse
 * becomes a call too, once in a turn, with the text as it stands: the loop does not run it, and tells the model why.
 * All else stays text.
 */
import { randomUUID } from "node:crypto";
import type { Message, StreamEvent, ToolSchema } from "#plugins/backends";
import { type Block, blockAt, openersOf } from "./textforms.ts";

type Call = Extract<StreamEvent, { type: "call" }>;

/** Key in `extra` of a call that was text; its value is `whole` or `broken`. */
const mark = "textForm";

/**
 * The same reply, its text-form calls as calls. Text that may be one is held back until that is known. A reply with
 * structured calls keeps all its text. `tools` and `messages` are those of the request.
 */
export async function* withTextCalls(
  events: AsyncIterable<StreamEvent>,
  tools: readonly ToolSchema[],
  messages: readonly Message[],
): AsyncGenerator<StreamEvent> {
  const found = finder(tools, !wasTold(messages));
  let structured = false;
  for await (const event of events) {
    if (event.type === "text") {
      const text = found.push(event.text);
      yield text === "" ? { type: "progress" } : { type: "text", text };
    } else if (event.type === "done") {
      const { text, calls } = found.end(structured);
      if (text !== "") yield { type: "text", text };
      const cut = event.stop === "length" || event.stop === "content_filter";
      for (const call of calls) yield cut ? { ...call, cut: true } : call;
      yield calls.length > 0 && event.stop === "stop" ? { ...event, stop: "tool_calls" } : event;
    } else {
      structured ||= event.type === "call";
      yield event;
    }
  }
}

/** Whether a call of this turn was one that could not be read: then its like stays text. */
function wasTold(messages: readonly Message[]): boolean {
  const turn = messages.slice(messages.findLastIndex(({ role }) => role === "user") + 1);
  return turn.some((m) => m.role === "assistant" && m.toolCalls?.some((call) => call.extra?.[mark] === "broken"));
}

function finder(tools: readonly ToolSchema[], tell: boolean) {
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  const openers = openersOf(byName);
  const blocks: { text: string; calls: Call[] }[] = [];
  /** What is not given out yet. */
  let held = "";
  /** `held` begins a line. */
  let atLine = true;
  /** Inside of a fenced block of something else. */
  let inFence = false;
  let mayTell = tell;

  function accept({ text, calls }: Block): boolean {
    const broken = calls.some((call) => call.args === undefined);
    if (broken && !mayTell) return false;
    mayTell &&= !broken;
    const made = calls.map(({ name, args }): Call => {
      const extra = { [mark]: args === undefined ? "broken" : "whole" };
      return { type: "call", id: `call_${randomUUID()}`, name, args: args ?? text.trim(), extra };
    });
    blocks.push({ text, calls: made });
    return true;
  }

  /** Takes blocks out of `held`; what can be none is given back. `over`: nothing follows. */
  function settle(over: boolean): string {
    let prose = "";
    let given = 0;
    let at = 0;
    while (at < held.length) {
      // A block may have blank lines in front: where it is none, they and the line behind them are prose together.
      const first = atLine ? firstVisible(held, at) : at;
      const blank = first === held.length;
      if (atLine && !inFence && (blank || openers.has(held[first]))) {
        const reading = blockAt(held.slice(at), byName, over);
        if (reading === "more") break;
        if (reading && accept(reading)) {
          prose += held.slice(given, at);
          given = at += reading.text.length;
          continue;
        }
      }
      const end = blank ? held.lastIndexOf("\n") : held.indexOf("\n", first);
      const whole = end >= at;
      // The fence that ends a block must be seen whole.
      if (atLine && !whole && !over && /^`{0,2}$/.test(held.slice(first))) break;
      if (atLine && held.startsWith("```", first)) inFence = !inFence;
      atLine = whole;
      at = whole ? end + 1 : held.length;
    }
    prose += held.slice(given, at);
    held = held.slice(at);
    return prose;
  }

  return {
    push(text: string): string {
      held += text;
      return settle(false);
    },
    /** What is left. `asText`: the blocks are text. */
    end(asText: boolean): { text: string; calls: Call[] } {
      const prose = settle(true);
      if (asText) return { text: blocks.map(({ text }) => text).join("") + prose, calls: [] };
      const calls = blocks.flatMap(({ calls }) => calls);
      // Line ends between blocks are no text.
      return { text: calls.length > 0 && prose.trim() === "" ? "" : prose, calls };
    },
  };
}

const visible = /\S/g;

/** Where the white space ends that stands at `at`. */
function firstVisible(text: string, at: number): number {
  visible.lastIndex = at;
  return visible.test(text) ? visible.lastIndex - 1 : text.length;
}
