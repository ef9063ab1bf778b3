/** Shows the output of calls that run side by side: one block at a time, in call order, the first live. */
import type { Chat } from "./chat.ts";
import { limits } from "./limits.ts";

export interface ToolOutput {
  /** Output of call `i` as it comes. */
  write(i: number, text: string): void;
  /** Call `i` has ended with `content` (undefined: it never came to run, and is shown as such by `content`). */
  done(i: number, content: string): void;
}

/** Thinking aloud is no output: neither its call nor its result stands in chat. */
export const isShown = (tool: string): boolean => tool !== "reasoning_think";

interface Slot {
  tool: string;
  language: string | undefined;
  /** Output that waits for its turn. */
  backlog: string;
  /** Output was left out of the backlog. */
  lost: boolean;
  /** What was streamed, to tell what of the result is new; undefined: more than is kept. */
  seen: string | undefined;
  final: string | undefined;
}

export function toolOutput(chat: Chat, calls: readonly { tool: string; language: string | undefined }[]): ToolOutput {
  const slots: Slot[] = calls.map((call) => ({ ...call, backlog: "", lost: false, seen: "", final: undefined }));
  let live = 0;
  const show = (slot: Slot, text: string) => {
    if (isShown(slot.tool)) chat.tool(slot.tool, slot.language, text);
  };
  const catchUp = (slot: Slot) => {
    show(slot, slot.backlog);
    if (slot.lost) show(slot, "(output is left out here)\n");
    Object.assign(slot, { backlog: "", lost: false });
  };
  const advance = () => {
    for (let slot = slots[live]; slot?.final !== undefined; slot = slots[++live]) {
      catchUp(slot);
      show(slot, rest(slot, slot.final));
      if (isShown(slot.tool)) chat.end();
    }
    const next = slots[live];
    if (next) catchUp(next);
  };
  return {
    write(i, text) {
      const slot = slots[i] as Slot;
      if (slot.final !== undefined) return;
      const seen = slot.seen === undefined ? undefined : slot.seen + text;
      slot.seen = seen !== undefined && seen.length > limits.toolBacklog ? undefined : seen;
      if (i === live) show(slot, text);
      else if (slot.seen !== undefined) slot.backlog += text;
      else slot.lost = true;
    },
    done(i, content) {
      const slot = slots[i] as Slot;
      slot.final ??= content;
      advance();
    },
  };
}

/** What a result says beside the output that was streamed already. */
function rest({ seen }: Slot, final: string): string {
  if (seen === "") return final;
  const shown = seen?.trim();
  const at = shown ? final.indexOf(shown) : -1;
  if (shown === undefined || at < 0) return "";
  const more = [final.slice(0, at), final.slice(at + shown.length)]
    .map((part) => part.trim())
    .filter((part) => part !== "");
  return more.length === 0 ? "" : `${seen?.endsWith("\n") ? "" : "\n"}${more.join("\n")}\n`;
}
