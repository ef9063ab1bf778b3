/** The conversation as a person reads it in a terminal: answers whole, calls as one line, tool output cut short. */
import type { ChatEvent } from "./blocks.ts";
import { printable, type Style } from "./style.ts";

export interface RenderOptions {
  write(text: string): void;
  style: Style;
  /** Columns. */
  width(): number;
  /** Whether a user's text was typed here: then it stands on the screen already. */
  typedHere(text: string): boolean;
}

/** Lines of a tool's output that are shown. */
const shownLines = 12;

export function renderer({ write, style, width, typedHere }: RenderOptions): (event: ChatEvent) => void {
  let kept = "";
  let lines = 0;
  let atLineStart = true;

  const put = (text: string): void => {
    if (text === "") return;
    write(text);
    atLineStart = text.endsWith("\n");
  };
  const cut = (text: string): string => (text.length > width() - 2 ? `${text.slice(0, width() - 3)}…` : text);
  const eachLine = (text: string, form: (line: string) => string): void => {
    for (const line of text.trimEnd().split("\n")) put(`${form(printable(line))}\n`);
  };

  const toolText = (text: string): void => {
    kept += text;
    for (let at = kept.indexOf("\n"); at >= 0; at = kept.indexOf("\n")) {
      if (lines++ < shownLines) put(`${style.dim(`  ${cut(printable(kept.slice(0, at)))}`)}\n`);
      kept = kept.slice(at + 1);
    }
  };

  const finish = ({ type, label }: ChatEvent): void => {
    if (type === "call") put(`${style.dim(cut(printable(`→ ${label} ${kept.trim()}`)))}\n`);
    else if (type === "user" && !typedHere(kept)) eachLine(kept, (line) => style.bold(`user: ${line}`));
    else if (type === "error") eachLine(kept, (line) => style.red(`error: ${line}`));
    else if (type === "tool") {
      if (kept.trim() !== "") toolText("\n");
      if (lines > shownLines) put(`${style.dim(`  … ${lines - shownLines} more lines`)}\n`);
    } else if (type === "info" || type === "retry" || type === "exec")
      eachLine(kept, (line) => style.dim(`:: ${line}`));
  };

  return (event) => {
    if (event.kind === "begin") {
      kept = "";
      lines = 0;
      if (!atLineStart) put("\n");
    } else if (event.kind === "text") {
      if (event.type === "assistant") put(printable(event.text));
      else if (event.type === "tool") toolText(event.text);
      else kept += event.text;
    } else if (event.type === "assistant") put(atLineStart ? "" : "\n");
    else finish(event);
  };
}
