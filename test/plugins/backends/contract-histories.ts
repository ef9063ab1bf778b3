/** What goes out: histories, counts, prefixes. */
import { expect } from "vitest";
import type { Message } from "../../../plugins/backends/types.ts";
import { ask, hello, type Rig } from "./contract-kit.ts";

export function histories({ check, setup }: Rig): void {
  check("H-102: input counts cached tokens, which are told too", async () => {
    const { fake, backend } = await setup();
    fake.say({ text: "a", usage: { fresh: 19, cached: 39_000, output: 10 } });
    const { events } = await ask(backend);
    const usage = events.find((event) => event.type === "usage")?.usage;
    expect(usage).toMatchObject({ input: 39_019, cachedInput: 39_000, output: 10 });
  });

  check("H-022: histories of other providers are legal: ids, thoughts, blanks, missing results", async () => {
    const { fake, backend } = await setup();
    fake.say({ text: "ok" });
    const shell = (id: string) => ({ id, name: "shell", args: {} });
    const outcome = await ask(backend, [
      { role: "system", content: "be brief" },
      { role: "assistant", content: "welcome" },
      { role: "user", content: " \n" },
      { role: "user", content: "go" },
      {
        role: "assistant",
        content: "\n\n",
        reasoning: [{ provider: "elsewhere", text: "hm", signature: "sig", data: { x: 1 } }],
        toolCalls: [shell("functions.shell:0"), shell("x".repeat(80))],
      },
      { role: "tool", toolCallId: "functions.shell:0", name: "shell", content: " " },
      { role: "assistant", content: " " },
      { role: "assistant", content: "", toolCalls: [shell("functions.shell:0")] },
      { role: "tool", toolCallId: "functions.shell:0", name: "shell", content: "ok", isError: true },
      { role: "tool", toolCallId: "nobody", name: "shell", content: "stray" },
      { role: "user", content: "and now?" },
      { role: "system", content: "plan: none" },
    ]);
    expect(fake.complaints).toEqual([]);
    expect(outcome).toMatchObject({ error: undefined, text: "ok" });
    expect(fake.requests[0]?.raw).not.toContain('"hm"');
  });

  check("a reply with calls goes back with its results, thoughts and all", async () => {
    const { fake, backend } = await setup();
    fake.say({ reasoning: "let me think", text: "look", calls: [{ name: "shell", args: { command: "ls" } }] });
    fake.say({ text: "two files" });
    const { events, text, calls } = await ask(backend);
    const reasoning = events.flatMap((event) => (event.type === "reasoning-block" ? [event.block] : []));
    const toolCalls = calls.map(({ id, name, args, extra }) => ({
      id,
      name,
      args: JSON.parse(args),
      ...(extra ? { extra } : {}),
    }));
    const saved = JSON.parse(JSON.stringify({ role: "assistant", content: text, toolCalls, reasoning }));
    const results = calls.map(({ id, name }) => ({ role: "tool" as const, toolCallId: id, name, content: "a b" }));
    expect(await ask(backend, [...hello, saved, ...results])).toMatchObject({ error: undefined, text: "two files" });
    expect(fake.complaints).toEqual([]);
  });

  check("the prefix of a longer history keeps its words", async () => {
    const { fake, backend } = await setup();
    const history: Message[] = [
      { role: "user", content: "a" },
      { role: "assistant", content: "b" },
      { role: "user", content: "c" },
    ];
    for (let n = 0; n < 2; n++) fake.say({ text: "ok" });
    await ask(backend, history);
    await ask(backend, [...history, { role: "assistant", content: "ok" }, { role: "user", content: "d" }]);
    const words = (raw = "") => raw.replace(/,?"cache_control":\{[^}]*\}/g, "");
    const [before, after] = fake.requests.map(({ raw }) => words(raw));
    const upToC = before?.slice(0, before.indexOf('"c"') + 3) ?? "";
    expect(upToC.length).toBeGreaterThan(10);
    expect(after?.startsWith(upToC)).toBe(true);
  });
}
