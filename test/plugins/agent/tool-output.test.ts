import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { chat } from "../../../plugins/agent/chat.ts";
import { chatFilter } from "../../../plugins/agent/chat-filter.ts";
import { toolOutput } from "../../../plugins/agent/tool-output.ts";
import { tempDir } from "./kit.ts";

const open = (...tools: string[]) => {
  const log = chat(join(tempDir(), "chat"), undefined, () => {});
  onTestFinished(() => log.raw.flush());
  const output = toolOutput(
    log,
    tools.map((tool) => ({ tool, language: undefined })),
  );
  const raw = () => log.raw.tail(1 << 23).toString("utf8");
  return { output, raw, text: () => chatFilter()(raw()) };
};

test("outputs of calls that run side by side stand one after the other, the first of them live", () => {
  const { output, raw, text } = open("a", "b", "c");
  output.write(1, "b1\n");
  output.write(0, "a1\n");
  expect(text()).toBe("a1\n");
  output.done(2, "c whole");
  output.write(1, "b2\n");
  output.done(0, "a1\na2\n");
  expect(text()).toBe("a1\na2\nb1\nb2\n");
  output.write(1, "b3\n");
  expect(text()).toBe("a1\na2\nb1\nb2\nb3\n");
  output.done(1, "b1\nb2\nb3\n");
  expect(text()).toBe("a1\na2\nb1\nb2\nb3\nc whole\n");
  expect(raw().match(/^\[\[\[tool:.*$/gm)).toEqual(["[[[tool:a]]]", "[[[tool:b]]]", "[[[tool:c]]]"]);
});

test("two calls of one tool are two blocks", () => {
  const { output, raw } = open("a", "a");
  output.done(0, "one");
  output.done(1, "two");
  expect(raw().match(/^\[\[\[tool:a\]\]\]$/gm)).toHaveLength(2);
});

test("what a result says beside its streamed output is shown behind it", () => {
  const { output, text } = open("a");
  output.write(0, "half a line");
  output.done(0, "error: exit status 2, output:\nhalf a line");
  expect(text()).toBe("half a line\nerror: exit status 2, output:\n");
});

test("of a flood that waits for its turn the beginning is shown", () => {
  const { output, text } = open("a", "b");
  for (let i = 0; i < 40; i++) output.write(1, `${"x".repeat(64 * 1024 - 1)}\n`);
  output.done(0, "first");
  output.done(1, "long");
  expect(text().length).toBeGreaterThan(900_000);
  expect(text().length).toBeLessThan(1_200_000);
  expect(text()).toMatch(/x\n\(output is left out here\)\n$/);
});
