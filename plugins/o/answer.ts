/** What one turn came to, from its blocks. */
import type { ChatEvent } from "./blocks.ts";

export interface Answer {
  /** The last text of the assistant: what it said after the last tool call. Empty where it said nothing. */
  text: string;
  /** Errors that ended the turn, in the order of their coming. */
  errors: string[];
}

export interface AnswerReader {
  take(event: ChatEvent): void;
  result(): Answer;
}

export function answerReader(): AnswerReader {
  let text = "";
  let kept = "";
  let errors: string[] = [];
  return {
    take(event) {
      if (event.kind === "begin") kept = "";
      else if (event.kind === "text") kept += event.text;
      else if (event.type === "assistant") text = kept;
      // What came before a call or a prompt was not the answer.
      else if (event.type === "call") text = "";
      else if (event.type === "user") {
        text = "";
        errors = [];
      } else if (event.type === "error") errors.push(kept.trim());
    },
    result: () => ({ text: text.replace(/^\s*\n/, "").trimEnd(), errors }),
  };
}
