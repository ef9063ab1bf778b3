import fc from "fast-check";
import { expect, test } from "vitest";
import { history, load, settle } from "../../../plugins/agent/history.ts";
import { fromSaved, toSaved } from "../../../plugins/agent/saved.ts";
import { complaint } from "./model.ts";

const cut = () => ({ content: "interrupted", isError: true });

const reply = fc.record({
  text: fc.constantFrom("", " \n", "hello"),
  ids: fc.array(fc.constantFrom("", "a", "b", "c"), { maxLength: 4 }),
});
/** What happens after a reply: results in some order, some missing, some twice. */
const round = fc.record({
  prompt: fc.constantFrom("", "\n", "go"),
  reply,
  order: fc.array(fc.nat(5), { maxLength: 6 }),
  content: fc.constantFrom("", "ok"),
});

test("H-020: whatever comes, in whatever order, every call id has exactly one result in its place", () => {
  fc.assert(
    fc.property(fc.array(round, { maxLength: 8 }), (rounds) => {
      const h = history();
      for (const { prompt, reply, order, content } of rounds) {
        h.user(prompt);
        const calls = reply.ids.map((id) => ({ id: h.mint(id), name: "t", args: {} }));
        h.reply(reply.text, calls, []);
        for (const i of order) {
          const call = calls[i];
          if (call) h.result(call.id, { content, isError: false });
        }
        settle(h, cut);
        expect(h.open).toEqual([]);
        expect(complaint(h.messages)).toBeUndefined();
      }
    }),
  );
});

test("H-020: a saved list that was cut anywhere is legal after it was loaded", () => {
  fc.assert(
    fc.property(fc.array(round, { minLength: 1, maxLength: 6 }), fc.nat(40), fc.nat(3), (rounds, end, skip) => {
      const h = history();
      for (const { reply, content } of rounds) {
        h.user("go");
        const calls = reply.ids.map((id) => ({ id: h.mint(id), name: "t", args: { n: 1 } }));
        h.reply(reply.text, calls, []);
        for (const call of [...calls].reverse()) h.result(call.id, { content, isError: false });
      }
      const torn = JSON.parse(JSON.stringify(h.messages.map(toSaved))).slice(skip, end);
      const again = history();
      load(
        again,
        torn.flatMap((message: unknown) => fromSaved(message) ?? []),
        cut,
      );
      settle(again, cut);
      expect(complaint(again.messages)).toBeUndefined();
      if (skip === 0 && end >= h.messages.length) expect(again.messages).toEqual(h.messages);
    }),
  );
});

test("results that come early wait for the earlier ones", () => {
  const h = history();
  h.user("go");
  h.reply(
    "",
    [
      { id: h.mint("a"), name: "t", args: {} },
      { id: h.mint("b"), name: "t", args: {} },
    ],
    [],
  );
  h.result("b", { content: "second", isError: false });
  expect(h.messages).toHaveLength(2);
  expect(h.unsettled.map(({ content }) => content)).toEqual(["", "second"]);
  expect(h.open.map(({ id }) => id)).toEqual(["a"]);
  expect(h.result("b", { content: "again", isError: false })).toBeUndefined();
  h.result("a", { content: "first", isError: false });
  expect(h.messages.slice(2).map(({ content }) => content)).toEqual(["first", "second"]);
});

test("saved ids that stand twice are made unique, each with its own result", () => {
  const calls = (id: string) => ({ role: "assistant" as const, content: "", toolCalls: [{ id, name: "t", args: {} }] });
  const result = (id: string, content: string) => ({ role: "tool" as const, toolCallId: id, name: "t", content });
  const h = history();
  const counts = load(
    h,
    [{ role: "user", content: "go" }, calls("x"), result("x", "1"), calls("x"), result("x", "2")],
    cut,
  );
  expect(counts).toEqual({ repaired: 0, dropped: 0 });
  expect(complaint(h.messages)).toBeUndefined();
  expect(h.messages.filter(({ role }) => role === "tool").map(({ content }) => content)).toEqual(["1", "2"]);
});
