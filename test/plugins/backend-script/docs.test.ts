/** The scenarios of the manual and of the package are valid, and the first of the manual plays as it says. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { scriptBackend } from "../../../plugins/backend-script/factory.ts";
import { checkScenario } from "../../../plugins/backend-script/schema.ts";
import type { Backend, Message } from "../../../plugins/backends/types.ts";

const root = join(import.meta.dirname, "../../..");
const manual = readFileSync(join(root, "docs/script-backend.md"), "utf8");
const fences = [...manual.matchAll(/^```yaml scenario\n([\s\S]*?)^```/gm)].map((match) => match[1] ?? "");

async function text(backend: Backend, messages: Message[], ...offered: string[]): Promise<string> {
  const tools = offered.map((name) => ({ name, description: name, parameters: { type: "object" } }));
  let said = "";
  for await (const event of backend.chatStream(messages, tools, {}, new AbortController().signal))
    said += event.type === "text" ? event.text : event.type === "call" ? `[${event.name} ${event.args}]` : "";
  return said;
}
const after = (prompt: string, result: string): Message[] => [
  { role: "user", content: prompt },
  { role: "assistant", content: "", toolCalls: [{ id: "c", name: "shell", args: {} }] },
  { role: "tool", toolCallId: "c", name: "shell", content: result },
];

test("the manual's scenarios are valid", () => {
  expect(fences).toHaveLength(3);
  for (const fence of fences) expect(() => checkScenario(parse(fence), "manual")).not.toThrow();
});

test("the manual's scenarios play as it says", async () => {
  const make = (at: number) =>
    scriptBackend({ scenario: parse(fences[at] ?? ""), env: {} }).create({}) as Promise<Backend>;
  const list = await make(0);
  expect(await text(list, [{ role: "user", content: "x" }])).toBe('Let me look.[shell {"command":"ls"}]');
  expect(await text(list, after("x", "a b"))).toBe("There is: a b");
  const rules = await make(1);
  expect(await text(rules, [{ role: "user", content: "add 1 2" }], "shell")).toBe(
    '[shell {"command":"echo $((1 + 2))"}]',
  );
  expect(await text(rules, after("add 1 2", "3"))).toBe("It is 3.");
});

test.each(readdirSync(join(root, "data/scenarios")))("data/scenarios/%s is valid", async (name) => {
  const env = { OLLIE_SCRIPT: join(root, "data/scenarios", name) };
  expect((await scriptBackend({ env }).create({})) as Backend).toHaveProperty("name", "script");
});
