import { testKernel } from "ollie/testing";
import { expect, test } from "vitest";
import tally from "./tally.ts";

const replies = [
  { steps: [{ call: { name: "look" } }, { call: { name: "look" } }] },
  { repeat: "always", steps: [{ text: "done" }] },
];

test("tally counts calls at every level, and a write resets an agent's", async () => {
  await using k = await testKernel({ plugins: [tally()], replies, tools: { look: () => "seen" } });
  const at = await k.agent();
  expect(await k.prompt("look twice")).toContain("done");
  expect(await k.fs.read("/tally")).toBe("2\n");
  expect(await k.fs.read("/session/s1/tally")).toBe("2\n");
  expect(await k.fs.read(`${at}/tally`)).toBe("2\n");
  await k.fs.write(`${at}/tally`, "0");
  expect(await k.fs.read(`${at}/tally`)).toBe("0\n");
  expect(await k.fs.read("/session/s1/tally")).toBe("2\n");
});

test("tally blocks calls over its limit", async () => {
  let calls = 0;
  await using k = await testKernel({ plugins: [tally({ limit: 1 })], replies, tools: { look: () => `${++calls}` } });
  await k.agent();
  expect(await k.prompt("look twice")).toContain("tally: limit reached");
  expect(calls).toBe(1);
});
