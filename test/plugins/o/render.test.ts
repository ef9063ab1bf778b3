import { expect, it } from "vitest";
import { chatParser } from "../../../plugins/o/blocks.ts";
import { renderer } from "../../../plugins/o/render.ts";
import { styleFor } from "../../../plugins/o/style.ts";

function shown(markup: string, { tty = false, typed = "" } = {}): string {
  let screen = "";
  const render = renderer({
    write: (text) => {
      screen += text;
    },
    style: styleFor({ isTTY: tty }, { TERM: "xterm" }),
    width: () => 30,
    typedHere: (text) => text.trim() === typed,
  });
  for (const event of chatParser()(markup)) render(event);
  return screen;
}

const block = (head: string, text: string) => `[[[${head}]]]\n${text}\n[[[end]]]\n`;

it("shows answers whole, calls as a line, tool output cut in both directions", () => {
  const output = Array.from({ length: 20 }, (_, at) => `${at} ${"x".repeat(40)}`).join("\n");
  const screen = shown(
    block("assistant:1", "I look.") +
      block("call:shell", `{"command":"${"y".repeat(40)}"}`) +
      block("tool:shell", `\`\`\`\n${output}\n\`\`\``) +
      block("assistant:2", "Done."),
  );
  const lines = screen.split("\n");
  expect(lines.slice(0, 3)).toEqual(["I look.", `→ shell {"command":"yyyyyyy…`, `  0 ${"x".repeat(25)}…`]);
  expect(lines.slice(14)).toEqual(["  … 8 more lines", "Done.", ""]);
});

it("leaves no blank lines between blocks in a terminal with colours", () => {
  const markup = block("call:shell", "{}") + block("tool:shell", "```\none\n```") + block("error", "no credit");
  const colours = /\p{Cc}\[\d+m/gu;
  expect(shown(markup, { tty: true })).toMatch(colours);
  expect(shown(markup, { tty: true }).replace(colours, "")).not.toMatch(/\n\n/);
});

it("does not repeat what was typed here, and shows what others wrote", () => {
  expect(shown(block("user", "mine"), { typed: "mine" })).toBe("");
  expect(shown(block("user", "another's"))).toBe("user: another's\n");
});

it("shows no usage and no escape sequences", () => {
  expect(shown(block("usage", "10 in") + block("assistant:1", "a\x1b[2Jb"))).toBe("a·[2Jb\n");
});
