/** Reads chat.raw (docs/chat-format.md) piece by piece: blocks `[[[type:label]]]` … `[[[end]]]`. */

export type ChatEvent =
  | { kind: "begin"; type: string; label: string }
  /** Content of the open block: whole lines, or the part of a line that came so far. Fences of tool output are left out. */
  | { kind: "text"; type: string; label: string; text: string }
  | { kind: "end"; type: string; label: string };

const header = /^\[\[\[([a-z]+)(?::(.*))?\]\]\]$/;
const closer = "[[[end]]]";

/** A parser: feed it markup in any pieces, it gives the events that these complete. */
export function chatParser(): (markup: string) => ChatEvent[] {
  let block: { type: string; label: string; fence: string | undefined } | undefined;
  let held = "";
  let inLine = false;

  const line = (text: string, whole: boolean, events: ChatEvent[]): void => {
    if (block === undefined) {
      const found = header.exec(text);
      if (found === null) return;
      block = { type: found[1] ?? "", label: found[2] ?? "", fence: undefined };
      events.push({ kind: "begin", type: block.type, label: block.label });
    } else if (text === closer) {
      events.push({ kind: "end", type: block.type, label: block.label });
      block = undefined;
    } else if (block.type === "tool" && fenceLine(block, text)) return;
    else {
      const shown = text.replace(/^ ( *\[\[\[)/, "$1");
      events.push({ kind: "text", type: block.type, label: block.label, text: whole ? `${shown}\n` : shown });
    }
  };

  return (markup) => {
    const events: ChatEvent[] = [];
    let text = held + markup;
    held = "";
    for (;;) {
      const at = text.indexOf("\n");
      const part = at < 0 ? text : text.slice(0, at);
      if (inLine && block !== undefined) {
        if (part !== "" || at >= 0) events.push({ kind: "text", ...named(block), text: at < 0 ? part : `${part}\n` });
        inLine = at < 0;
      } else if (at >= 0) line(part, true, events);
      else if (block === undefined || mayBeMarker(part, block.type)) held = part;
      else {
        line(part, false, events);
        inLine = true;
      }
      if (at < 0) return events;
      text = text.slice(at + 1);
    }
  };
}

function named({ type, label }: { type: string; label: string }): { type: string; label: string } {
  return { type, label };
}

/** Tool output stands in a fence longer than any run of backticks inside; what is not that fence is content. */
function fenceLine(block: { fence: string | undefined }, text: string): boolean {
  if (block.fence === undefined) {
    block.fence = /^`{3,}/.exec(text)?.[0];
    return block.fence !== undefined;
  }
  if (text !== block.fence) return false;
  block.fence = undefined;
  return true;
}

function mayBeMarker(begun: string, type: string): boolean {
  return /^ *\[{0,3}$|^ *\[\[\[/.test(begun) || (type === "tool" && begun.startsWith("`"));
}
