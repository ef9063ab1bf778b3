/** The loop between a stream's batches and the events of a reply. */
import { expect, test } from "vitest";
import { replyEvents } from "../../../plugins/backends/reply-events.ts";
import type { StreamEvent } from "../../../plugins/backends/types.ts";

const text = (piece: string): StreamEvent => ({ type: "text", text: piece });
const thought = (piece: string): StreamEvent => ({ type: "reasoning", text: piece });
const call: StreamEvent = { type: "call", id: "c", name: "shell", args: "{}" };

/** What comes of batches whose items are the events themselves; the last entry may be what was thrown. */
async function told(batches: (StreamEvent | Error | "end")[][]): Promise<unknown[]> {
  const all: unknown[] = [];
  const reader = {
    over: false,
    take(item: StreamEvent | Error | "end"): StreamEvent[] {
      if (item instanceof Error) throw item;
      reader.over = item === "end";
      return item === "end" ? [] : [item];
    },
  };
  async function* stream() {
    yield* batches;
  }
  try {
    for await (const event of replyEvents(stream(), reader)) all.push({ ...event });
  } catch (error) {
    all.push(error);
  }
  return all;
}

test("text that came together is one event, and what came later another", async () => {
  expect(await told([[text("a"), text("b"), text("c")], [text("d")]])).toEqual([text("abc"), text("d")]);
});

test("what is of another kind keeps its place", async () => {
  expect(await told([[thought("x"), thought("y"), text("a"), call, text("b"), text("c")]])).toEqual([
    thought("xy"),
    text("a"),
    call,
    text("bc"),
  ]);
});

test("a batch that says nothing is a sign of life", async () => {
  expect(await told([[], [text("a")], []])).toEqual([{ type: "progress" }, text("a"), { type: "progress" }]);
});

test("what came before a fault is given out before it", async () => {
  const fault = new Error("broken");
  expect(await told([[text("a"), text("b"), fault, text("c")]])).toEqual([text("ab"), fault]);
});

test("nothing is read behind the end mark", async () => {
  expect(await told([[text("a"), "end", text("b")], [text("c")]])).toEqual([text("a")]);
});
