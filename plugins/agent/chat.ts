/** Writes the conversation as block markup (docs/chat-format.md): one block is open at a time. */
import { guard } from "./chat-filter.ts";
import { type ChatLog, type ChatMark, chatLog } from "./chat-log.ts";
import { type ChatText, chatText } from "./chat-text.ts";
import { breakAt, fenceFor } from "./fence.ts";
import { limits } from "./limits.ts";

export interface Chat {
  /** A whole block. */
  block(type: "user" | "error" | "info" | "retry" | "usage", text: string): void;
  /** One line: the call as the model made it. */
  call(tool: string, args: string): void;
  /** A piece of the reply `id`. */
  reply(id: string, text: string): void;
  /** A piece of a tool's output; `language` is its fence's. The block stays open until `end` or another one. */
  tool(tool: string, language: string | undefined, text: string): void;
  /** Closes what is open: the log ends with a newline. */
  end(): void;
  readonly raw: ChatLog;
  readonly text: ChatText;
}

interface Open {
  key: string;
  /** Not written yet: it may become a marker, or end a tool's output. */
  held: string;
  atLineStart: boolean;
  /** Of a tool's output. */
  fence: string | undefined;
  language: string;
}

/** Opens the chat kept in `file`. A block that a crash left open is closed. `max`: bytes after which the log begins anew. */
export function chat(
  file: string,
  known: ChatMark | undefined,
  fail: (error: unknown) => void,
  max: number = limits.chatFile,
): Chat {
  const raw = chatLog(file, fail);
  closeTorn(raw);
  const text = chatText(raw, known);
  let open: Open | undefined;
  /** Blank beginning of a reply: it makes no block of its own. */
  let blank = { id: "", text: "" };
  let began = raw.start.raw;
  let rotating = false;

  const begin = (key: string, fence?: string, language = ""): Open => {
    if (open?.key === key) return open;
    end();
    raw.append(`[[[${key}]]]\n${fence === undefined ? "" : `${fence}${language}\n`}`);
    open = { key, held: "", atLineStart: true, fence, language };
    return open;
  };
  const write = (to: Open, content: string) => {
    if (content === "") return;
    const first = to.atLineStart ? guard(content) : content;
    raw.append(first.includes("[[[") ? first.replace(/\n(?= *\[\[\[)/g, "\n ") : first);
    to.atLineStart = content.endsWith("\n");
    if (raw.size - began <= max || rotating) return;
    rotating = true;
    setImmediate(rotate);
  };
  /** Counting the text takes a while: other work goes on between two pieces. */
  const rotate = () => {
    try {
      for (let pieces = 0; pieces < 16; pieces++)
        if (!text.advance()) {
          end();
          began = raw.size;
          raw.rotate(text.mark());
          rotating = false;
          return;
        }
      setImmediate(rotate);
    } catch (error) {
      // The disk's: the log grows on, and it is tried again when it has grown as much.
      fail(error);
      began = raw.size;
      rotating = false;
    }
  };
  const end = () => {
    if (!open) return;
    const { held, fence } = open;
    if (fence === undefined) write(open, held);
    else if (held.trim() !== "") fenced(open, held);
    raw.append(`${open.atLineStart ? "" : "\n"}${open.fence === undefined ? "" : `${open.fence}\n`}[[[end]]]\n`);
    open = undefined;
  };
  const fenced = (to: Open, content: string) => {
    let left = content;
    for (;;) {
      const at = breakAt(left, to.fence as string, to.atLineStart);
      if (at === undefined) break;
      write(to, left.slice(0, at));
      left = left.slice(at);
      const longer = fenceFor(left);
      raw.append(`${to.fence}\n${longer}${to.language}\n`);
      to.fence = longer;
    }
    write(to, left);
  };
  return {
    raw,
    text,
    end,
    block(type, content) {
      end();
      const to = begin(type);
      write(to, content);
      end();
    },
    call(tool, args) {
      end();
      write(begin(`call:${label(tool)}`), args.replace(/\s+/g, " ").trim());
      end();
    },
    reply(id, piece) {
      const key = `assistant:${id}`;
      let content = piece;
      if (open?.key !== key) {
        content = (blank.id === id ? blank.text : "") + piece;
        blank = { id, text: content };
        if (content.trim() === "") return;
        blank = { id: "", text: "" };
      }
      const to = begin(key);
      content = to.held + content;
      const keep = heldTail(content, to.atLineStart, false);
      to.held = content.slice(keep);
      write(to, content.slice(0, keep));
    },
    tool(tool, language, piece) {
      if (piece === "") return;
      const key = `tool:${label(tool)}`;
      const to = begin(key, fenceFor(piece), label(language ?? ""));
      const content = to.held + piece;
      const keep = heldTail(content, to.atLineStart, true);
      to.held = content.slice(keep);
      fenced(to, content.slice(0, keep));
    },
  };
}

/** Names in headers: one line, no bracket. */
const label = (name: string): string => name.replace(/[\s\p{Cc}\]`]/gu, "_").slice(0, 128);

/** Where the part of `content` begins that has to wait for what follows. */
function heldTail(content: string, atLineStart: boolean, tool: boolean): number {
  let end = content.length;
  const last = content.charCodeAt(end - 1);
  if (last >= 0xd800 && last < 0xdc00) end--;
  if (tool) {
    // Newlines at the end: the first is written, the others only when more follows.
    let first = end;
    while (first > 0 && content.charCodeAt(first - 1) === 10) first--;
    const free = first === 0 && atLineStart ? 0 : first + 1;
    if (first < end) return Math.min(free, end);
  }
  const line = content.lastIndexOf("\n", end - 1) + 1;
  if (line === 0 && !atLineStart) return end;
  const begun = content.slice(line, end);
  return begun !== "" && (/^ *\[{0,2}$/.test(begun) || (tool && /^ *`+$/.test(begun))) ? line : end;
}

/** A crash may have left the last block open. */
function closeTorn(raw: ChatLog): void {
  if (raw.size === 0) return;
  const tail = raw.read(Math.max(0, raw.size - 64), 64).toString("utf8");
  // with a blank in front it is content that looks like one
  if (/(^|\n)\[\[\[end\]\]\]\n$/.test(tail)) return;
  raw.append(`${tail.endsWith("\n") ? "" : "\n"}[[[end]]]\n`);
}
