/** Cost and caches in `stats`: what is known, what is not, and what broke the prefix. */
import { expect, test } from "vitest";
import { startAgent } from "./kit.ts";
import { done } from "./model.ts";

const used = (usage: object) => ({ type: "usage" as const, usage: { input: 100, output: 5, ...usage } });
const turn = (usage: object) => [{ type: "text" as const, text: "ok" }, used(usage), done()];

test("H-106: a cost that is not known is unknown, with the part that is; free is 0; tokens are counted in all", async () => {
  const { fs, A, model, idle } = await startAgent();
  const costs = async () => (await fs.read(`${A}/stats`)).match(/^cost(?:Last)?=.*$/gm);
  for (const [usage, expected] of [
    [{ costUSD: 0 }, ["cost=$0.0000", "costLast=$0.0000"]],
    [{}, ["cost=unknown", "costLast=unknown"]],
    [{ costUSD: 0.012 }, ["cost=unknown ($0.0120 is known)", "costLast=$0.0120"]],
  ] as const) {
    model.replies = [turn(usage)];
    await fs.write(`${A}/prompt`, "go");
    await idle();
    expect(await costs()).toEqual(expected);
  }
  expect(await fs.read(`${A}/stats`)).toContain("usage=300 in, 15 out, 3 requests\n");
});

test("stats tells tokens from caches, and what broke the prefix", async () => {
  const { fs, A, model, idle } = await startAgent();
  const cache = async () => (await fs.read(`${A}/stats`)).match(/^cache=(.*)$/m)?.[1];
  const go = async (usage: object) => {
    model.replies = [turn(usage)];
    await fs.write(`${A}/prompt`, "go");
    await idle();
  };
  await go({ cacheCreation: 90 });
  await go({ cachedInput: 90 });
  expect(await cache()).toBe("90 of 200 (45%), 90 written");
  await fs.rdwr(`${A}/ctl`, "model other");
  await go({});
  expect(await cache()).toBe("90 of 300 (30%), 90 written; prefix broken 1 times, last by the model");
  await fs.rdwr(`${A}/ctl`, "clear");
  await go({});
  expect(await cache()).toMatch(/prefix broken 2 times, last by the history$/);
});
