/** Bracketed paste for node:readline: a text of several lines that is pasted stays one entry. */
import { PassThrough } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import type { ReadStream, WriteStream } from "node:tty";

/** Stands for a newline while the entry is edited; `newlines` puts it back. */
const sign = "⏎";
const begin = "\x1b[200~";
const end = "\x1b[201~";

export function newlines(entry: string): string {
  return entry.replaceAll(sign, "\n");
}

export interface PasteInput {
  /** In place of the terminal, for readline. */
  input: PassThrough & { isTTY: boolean; setRawMode(on: boolean): void };
  close(): void;
}

export function pasteInput(terminal: ReadStream, output: WriteStream): PasteInput {
  const filter = pasteFilter();
  const decoder = new StringDecoder("utf8");
  const input = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: (on: boolean) => void terminal.setRawMode(on),
  });
  const feed = (bytes: Buffer): void => {
    const keys = filter(decoder.write(bytes));
    if (keys !== "") input.write(keys);
  };
  const over = (): void => void input.end();
  // A question that was asked before has paused it.
  terminal.on("data", feed).on("end", over).resume();
  output.write("\x1b[?2004h");
  return {
    input,
    close() {
      output.write("\x1b[?2004l");
      terminal.off("data", feed).off("end", over);
      terminal.pause();
    },
  };
}

/** Takes keys in any pieces; gives them with pasted newlines as signs and without the marks around the paste. */
export function pasteFilter(): (keys: string) => string {
  let pasting = false;
  let held = "";
  return (keys) => {
    let out = "";
    let text = held + keys;
    held = "";
    for (;;) {
      const mark = pasting ? end : begin;
      const at = text.indexOf(mark);
      const part = at < 0 ? text : text.slice(0, at);
      if (at < 0) {
        held = begunMark(part, mark, pasting ? 1 : 2);
        if (pasting && held === "" && part.endsWith("\r")) held = "\r";
        const free = part.slice(0, part.length - held.length);
        return out + (pasting ? onOneLine(free) : free);
      }
      out += pasting ? onOneLine(part) : part;
      pasting = !pasting;
      text = text.slice(at + mark.length);
    }
  };
}

// Outside of a paste a lone escape is not held: it may be the Escape key, after which nothing comes.
function begunMark(text: string, mark: string, least: number): string {
  for (let size = mark.length - 1; size >= least; size--) {
    if (text.endsWith(mark.slice(0, size))) return mark.slice(0, size);
  }
  return "";
}

/** Keys inside of a paste are text, never commands. */
function onOneLine(text: string): string {
  return text
    .replace(/\r\n|\r|\n/g, sign)
    .replace(/\t/g, "    ")
    .replace(/\p{Cc}/gu, "");
}
