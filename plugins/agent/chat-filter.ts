/**
 * chat.raw -> chat: the same text without markers and fences, a prefix per kind of line. A machine that takes the markup
 * in pieces and gives text as soon as it is certain. Grammar: docs/chat-format.md.
 */

/** Feeds one piece of markup (whole characters); gives the text that it makes. Starts between two blocks. */
export type ChatFilter = (markup: string) => string;

const header = /^\[\[\[([a-z]+)(?::(.*))?\]\]\]$/;
const closer = "[[[end]]]";
/** The beginning of a line that may still become a marker, a guarded line or a fence. */
const undecided = (line: string, of: Block): boolean =>
  /^ *\[{0,2}$|^\[\[\[/.test(line) || (of.type === "tool" && line.startsWith("`"));

/** What stands before the first line, and before each line, of a block. */
const prefixes: Record<string, { first: string; each: string }> = {
  user: { first: "user: ", each: "" },
  assistant: { first: "assistant: ", each: "" },
  error: { first: "error: ", each: "" },
  info: { first: ":: ", each: ":: " },
};
const silent = new Set(["usage"]);

/** Once begun, its lines go through as they are, but for those with a marker or what looks like one. */
const isPlain = ({ type }: Block): boolean =>
  !silent.has(type) && type !== "call" && type !== "tool" && !prefixes[type]?.each;

/** Where the first line begins, from `at` on, that is not whole or may be a marker. */
function plainEnd(text: string, at: number): number {
  const mark = text.indexOf("[[[", at);
  return text.lastIndexOf("\n", mark < 0 ? text.length : mark) + 1;
}

interface Block {
  type: string;
  name: string;
  fence: string | undefined;
  /** Lines begun so far. */
  lines: number;
  /** A call's content is kept for its one line. */
  kept: string;
}

export function chatFilter(): ChatFilter {
  let block: Block | undefined;
  let held = "";
  let inLine = false;

  /** Text of a line's beginning, or of a whole line, inside of a block. */
  const content = (of: Block, line: string, begins: boolean): string => {
    if (silent.has(of.type)) return "";
    if (of.type === "call") {
      of.kept += line;
      return "";
    }
    if (!begins) return line;
    const prefix = prefixes[of.type];
    const before = of.lines++ === 0 ? prefix?.first : prefix?.each;
    return (before ?? "") + unguard(line);
  };
  const close = (of: Block): string => {
    block = undefined;
    return of.type === "call" ? `-> ${of.name}(${of.kept.replace(/\s+/g, " ").trim()})\n` : "";
  };
  const isFence = (of: Block, line: string): boolean => {
    if (of.type !== "tool" || !line.startsWith("```")) return false;
    if (of.fence === undefined) {
      of.fence = /^`+/.exec(line)?.[0];
      return true;
    }
    if (line !== of.fence) return false;
    of.fence = undefined;
    return true;
  };
  const whole = (line: string): string => {
    if (!block) {
      const found = header.exec(line);
      if (found) block = { type: found[1] as string, name: found[2] ?? "", fence: undefined, lines: 0, kept: "" };
      return "";
    }
    if (line === closer) return close(block);
    return isFence(block, line) ? "" : content(block, `${line}\n`, true);
  };
  return (markup) => {
    let out = "";
    let at = 0;
    const text = held + markup;
    held = "";
    while (at < text.length) {
      const plain = block && block.lines > 0 && isPlain(block) ? plainEnd(text, at) : at;
      if (plain > at) {
        out += text.slice(at, plain);
        at = plain;
        inLine = false;
        continue;
      }
      const end = text.indexOf("\n", at);
      const line = text.slice(at, end < 0 ? undefined : end);
      if (inLine && block) {
        out += content(block, end < 0 ? line : `${line}\n`, false);
        inLine = end < 0;
      } else if (end >= 0) {
        out += whole(line);
      } else if (!block || undecided(line, block)) {
        held = line;
      } else {
        out += content(block, line, true);
        inLine = true;
      }
      if (end < 0) break;
      at = end + 1;
    }
    return out;
  };
}

/** Content lines that look like a marker carry one more blank in front. */
export const guard = (line: string): string => (/^ *\[\[\[/.test(line) ? ` ${line}` : line);
export const unguard = (line: string): string => (/^ +\[\[\[/.test(line) ? line.slice(1) : line);
