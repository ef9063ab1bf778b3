import { expect, it } from "vitest";
import * as z from "zod/mini";
import { createKernel, definePlugin } from "#core";
import { options } from "#plugins/options";

const plugin = (seen: unknown[]) =>
  definePlugin({
    name: "tea",
    doc: "Makes tea.",
    config: options(z.strictObject({ minutes: z._default(z.int().check(z.positive()), 3) })),
    setup: ({ config }) => void seen.push(config),
  });

it("options that are left out have their defaults", async () => {
  const seen: unknown[] = [];
  await using kernel = createKernel({ plugins: [plugin(seen)()] });
  await kernel.start();
  expect(seen).toEqual([{ minutes: 3 }]);
});

it.each([
  [{ minutes: "3" }, "tea.minutes: Invalid input: expected number, received string"],
  [{ minutes: 0 }, "tea.minutes: Too small: expected number to be >0"],
  [{ minute: 1 }, 'tea: Unrecognized key: "minute"'],
])("%j is told in English", async (given, text) => {
  await using kernel = createKernel({ plugins: [plugin([])(given as never)] });
  await expect(kernel.start()).rejects.toThrow(text);
});
