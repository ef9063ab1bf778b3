/** The soak in small; `npm run soak` is the long one. */
import { beforeAll, expect, test } from "vitest";
import { build } from "../dist.ts";
import { kills } from "./kills.ts";
import { turns } from "./turns.ts";

beforeAll(build, 60_000);

test("H-034, H-020: 20 kills at random moments lose nothing, leave no process and no illegal history", {
  timeout: 180_000,
}, async () => {
  const { prompts, results } = await kills(20, 1);
  expect(prompts).toBeGreaterThanOrEqual(10);
  expect(results).toBeGreaterThan(5);
});

test("500 turns leave memory, descriptors and children of the daemon as they were", { timeout: 180_000 }, async () => {
  const { before, after, warnings } = await turns(500);
  expect(after.rss).toBeLessThan(before.rss * 1.5);
  expect(after.descriptors).toBeLessThan(before.descriptors + 20);
  expect(after.zombies).toBe(0);
  expect(warnings).toBe(0);
});
