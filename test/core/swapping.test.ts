/** Another scheduler, backend, compactor: one plugin more or in place of another, and nothing else changes. */
import { testKernel } from "ollie/testing";
import { expect, test, vi } from "vitest";
import { definePlugin, NineError } from "#core";
import { Compactor } from "#plugins/agent";
import { Backends } from "#plugins/backends";
import { Scheduler } from "#plugins/scheduler";
import backends from "../../plugins/backends/index.ts";

const calls = ["a", "b", "c"].map((name) => ({ call: { name } }));
const replies = [{ steps: calls }, { repeat: "always", steps: [{ text: "done" }] }];

test("a scheduler of one's own decides what runs when", async () => {
  const order: string[] = [];
  const backwards = definePlugin({
    name: "scheduler",
    doc: "One call at a time, the last one first.",
    provides: [Scheduler],
    setup({ provide }) {
      provide(Scheduler, {
        schedule(jobs) {
          let before: Promise<unknown> = Promise.resolve();
          const results = [...jobs].reverse().map((job) => {
            const mine = before.then(() => job.run());
            before = mine;
            return mine;
          });
          return results.reverse();
        },
      });
    },
  });
  const tool = (name: string) => [name, () => `${order.push(name)}`] as const;
  const tools = Object.fromEntries(["a", "b", "c"].map(tool));
  await using k = await testKernel({ plugins: [backwards()], replies, tools });
  await k.agent();
  expect(await k.prompt("go")).toContain("done");
  expect(order).toEqual(["c", "b", "a"]);
});

test("a backend of one's own answers", async () => {
  // The variable wins over the config, and the tests run with it.
  vi.stubEnv("OLLIE_BACKEND", undefined);
  const parrot = definePlugin({
    name: "parrot",
    doc: "Says what it is told.",
    needs: [Backends],
    setup({ use, defer }) {
      const undo = use(Backends).register({
        name: "parrot",
        credentials: [],
        defaultModel: "grey",
        available: async () => ({ ok: true, why: "always there" }),
        create: ({ model = "grey" }) => ({
          name: "parrot",
          model,
          setModel() {},
          async *chatStream(messages) {
            yield { type: "text", text: `${messages.at(-1)?.content}, ${messages.at(-1)?.content}` };
            yield { type: "done", stop: "stop" };
          },
          contextLength: async () => undefined,
          models: async () => ["grey"],
        }),
      });
      defer(undo);
    },
  });
  await using k = await testKernel({ plugins: [parrot(), backends({ backend: "parrot" })] });
  await k.agent();
  expect(await k.prompt("pretty")).toContain("pretty, pretty");
  expect(await k.fs.read("/backends")).toContain("parrot");
});

test("a compactor of one's own is asked; without one ctl says so", async () => {
  const brief = definePlugin({
    name: "brief",
    doc: "Says that it made room.",
    provides: [Compactor],
    setup({ provide }) {
      provide(Compactor, { compact: async (at, trigger) => `${at.agent.name}: made room, ${trigger}` });
    },
  });
  await using without = await testKernel();
  const at = await without.agent();
  await expect(without.fs.rdwr(`${at}/ctl`, "compact")).rejects.toBeInstanceOf(NineError);
  await using k = await testKernel({ plugins: [brief()] });
  expect(await k.fs.rdwr(`${await k.agent()}/ctl`, "compact")).toBe("a1: made room, manual\n");
});
