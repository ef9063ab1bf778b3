/** Histories that one provider made, for another one. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { legalHistory, type Message } from "../../../plugins/backends/types.ts";

const user = (content: string): Message => ({ role: "user", content });
const calling = (...ids: string[]): Message => ({
  role: "assistant",
  content: "",
  toolCalls: ids.map((id) => ({ id, name: "shell", args: {} })),
});
const result = (id: string, content = "ok"): Message => ({ role: "tool", toolCallId: id, name: "shell", content });

test("what is legal stays as it is", () => {
  const history = [user("a"), calling("c1", "c2"), result("c1"), result("c2"), user("b")];
  expect(legalHistory(history)).toBe(history);
});

test("whatever is made legal is legal: it has one result a call, and is not made anew", () => {
  const id = fc.constantFrom("c1", "c2", "c3", "c 4", "");
  const content = fc.constantFrom("", " ", "text");
  const message = fc.oneof<fc.Arbitrary<Message>[]>(
    fc.record({ role: fc.constant("system" as const), content }),
    fc.record({ role: fc.constant("user" as const), content }),
    fc.record({ role: fc.constant("assistant" as const), content }),
    fc.record({
      role: fc.constant("assistant" as const),
      content,
      toolCalls: fc.array(fc.record({ id, name: fc.constant("shell"), args: fc.constant({}) }), { maxLength: 3 }),
    }),
    fc.record({ role: fc.constant("tool" as const), toolCallId: id, name: fc.constant("shell"), content }),
  );
  fc.assert(
    fc.property(fc.array(message, { maxLength: 12 }), (history) => {
      const legal = legalHistory(history, { id: /^\w+$/ });
      expect(legalHistory(legal, { id: /^\w+$/ })).toBe(legal);
      const calls = legal.flatMap((one) => (one.role === "assistant" ? (one.toolCalls ?? []) : []));
      const results = legal.flatMap((one) => (one.role === "tool" ? [one.toolCallId] : []));
      expect(results).toEqual(calls.map((call) => call.id));
    }),
    { numRuns: 2000 },
  );
});

test("H-008: a call id that is used again is told apart, with its result", () => {
  const history = [user("a"), calling("shell"), result("shell", "one"), calling("shell"), result("shell", "two")];
  const [, first, one, second, two] = legalHistory(history) as [Message, ...Record<string, unknown>[]];
  const idOf = (message: unknown) => (message as { toolCalls: { id: string }[] }).toolCalls[0]?.id;
  expect(idOf(first)).toBe("shell");
  expect(idOf(second)).toMatch(/^[A-Za-z0-9]{9}$/);
  expect(one).toMatchObject({ toolCallId: "shell", content: "one" });
  expect(two).toMatchObject({ toolCallId: idOf(second), content: "two" });
});

test("ids that the provider does not take are replaced, and the same ones in each request", () => {
  const history = [user("a"), calling("functions.shell:0"), result("functions.shell:0"), user("b")];
  const once = legalHistory(history, { id: /^[\w-]+$/ });
  expect(JSON.stringify(once)).not.toContain("functions.shell:0");
  expect(legalHistory([...history, user("c")], { id: /^[\w-]+$/ }).slice(0, once.length)).toEqual(once);
});

test("each call gets one result, in call order, and other results go", () => {
  const history = [user("a"), result("x"), calling("c1", "c2"), result("c2", " "), result("c9"), user("b")];
  expect(legalHistory(history).slice(2, 4)).toEqual([
    { role: "tool", toolCallId: "c1", name: "shell", content: "error: no result is known", isError: true },
    { role: "tool", toolCallId: "c2", name: "shell", content: "(no output)" },
  ]);
  expect(legalHistory(history)).toHaveLength(5);
});

test("H-022: blank messages go, and the user comes first and last", () => {
  const history: Message[] = [user(" "), { role: "assistant", content: "\n\n" }, { role: "assistant", content: "hi" }];
  expect(legalHistory(history).map(({ role, content }) => `${role} ${content}`)).toEqual([
    "user Go on.",
    "assistant hi",
    "user Go on.",
  ]);
});
