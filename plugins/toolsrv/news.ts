/** What the model is told of a background process: its output since the last look, and its end. Each byte once. */
import { StringDecoder } from "node:string_decoder";
import { type Capture, capture } from "./capture.ts";
import { reduce } from "./reduce.ts";
import { endWords, type ProcessEnd } from "./status.ts";

export interface News {
  push(chunk: Uint8Array): void;
  /** What there is to tell now; undefined: nothing. It counts as told. `end` undefined: it runs. */
  take(end: ProcessEnd | undefined): string | undefined;
}

/** Bytes of head and of tail of the output between two looks. */
const shown = 2048;

/** `who` names the process, as a sentence begins. */
export function news(who: string): News {
  // Characters that are cut by a read wait here for their rest.
  const decoder = new StringDecoder("utf8");
  let kept: Capture = capture(shown, shown);
  let endTold = false;
  return {
    push: (chunk) => kept.push(Buffer.from(decoder.write(Buffer.from(chunk)))),
    take(end) {
      if (end && !endTold) kept.push(Buffer.from(decoder.end()));
      const output = textOf(kept);
      if (output === "" && (!end || endTold)) return undefined;
      kept = capture(shown, shown);
      const what = end ? endWords(end) : "runs";
      endTold = end !== undefined;
      const heading = `${who} ${what}; ${output === "" ? "no output" : "output"} since the last look${output === "" ? "" : ":"}`;
      return interruptNote([heading, output].filter(Boolean).join("\n"));
    },
  };
}

/** A text about processes, as it stands in a message. */
export const interruptNote = (text: string): string =>
  `<system-proc-interrupt>\n${harmless(text)}\n</system-proc-interrupt>`;

/** Nothing in it can be taken for the end of the block, or for another one. */
const harmless = (text: string): string => text.replaceAll(/<(?=\/?system-)/gi, "&lt;");

function textOf(kept: Capture): string {
  const { head, tail, omitted } = kept.result();
  const all = omitted === 0 ? head : `${head}\n[... ${omitted} bytes left out ...]\n${tail}`;
  return reduce(all).trimEnd();
}
