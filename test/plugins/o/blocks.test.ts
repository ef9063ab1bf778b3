import { describe, expect, it } from "vitest";
import { answerReader } from "../../../plugins/o/answer.ts";
import { type ChatEvent, chatParser } from "../../../plugins/o/blocks.ts";

const chat = `[[[user]]]
what is here?
[[[end]]]
[[[assistant:r1]]]
I look.
[[[end]]]
[[[call:shell]]]
{"command":"ls"}
[[[end]]]
[[[tool:shell]]]
\`\`\`\`text
\`\`\`
a [[[end]]]
 [[[end]]]
\`\`\`\`
[[[end]]]
[[[assistant:r2]]]
Two files,
 [[[odd]]] ones.
[[[end]]]
`;

function parse(pieces: string[]): ChatEvent[] {
  const feed = chatParser();
  return pieces.flatMap(feed);
}

/** Content per block, whatever the pieces were. */
function contents(events: ChatEvent[]): [string, string][] {
  const blocks: [string, string][] = [];
  for (const event of events) {
    const last = blocks.at(-1);
    if (event.kind === "begin") blocks.push([`${event.type}:${event.label}`, ""]);
    else if (event.kind === "text" && last !== undefined) last[1] += event.text;
  }
  return blocks;
}

const expected = [
  ["user:", "what is here?\n"],
  ["assistant:r1", "I look.\n"],
  ["call:shell", '{"command":"ls"}\n'],
  ["tool:shell", "```\na [[[end]]]\n[[[end]]]\n"],
  ["assistant:r2", "Two files,\n[[[odd]]] ones.\n"],
];

describe("chatParser", () => {
  it("takes markers, fences and guards off", () => {
    expect(contents(parse([chat]))).toEqual(expected);
  });

  it("gives the same whatever the pieces", () => {
    for (const size of [1, 2, 3, 7, 50]) {
      const pieces = chat.match(new RegExp(`[\\s\\S]{1,${size}}`, "g")) ?? [];
      expect(contents(parse(pieces))).toEqual(expected);
    }
  });

  it("gives the beginning of a line before its end has come", () => {
    const feed = chatParser();
    feed("[[[assistant:r]]]\n");
    expect(feed("half a li")).toEqual([{ kind: "text", type: "assistant", label: "r", text: "half a li" }]);
    expect(feed("ne\n")).toEqual([{ kind: "text", type: "assistant", label: "r", text: "ne\n" }]);
  });
});

describe("answerReader", () => {
  const answer = (text: string) => {
    const reader = answerReader();
    for (const event of parse([text])) reader.take(event);
    return reader.result();
  };

  it("takes what was said after the last call", () => {
    expect(answer(chat)).toEqual({ text: "Two files,\n[[[odd]]] ones.", errors: [] });
  });

  it("has no answer where the turn ended with a call", () => {
    const cut = chat.slice(0, chat.indexOf("[[[assistant:r2"));
    expect(answer(cut).text).toBe("");
  });

  it("keeps the errors of the turn", () => {
    expect(answer("[[[user]]]\nx\n[[[end]]]\n[[[error]]]\nno credit\n[[[end]]]\n").errors).toEqual(["no credit"]);
  });
});
