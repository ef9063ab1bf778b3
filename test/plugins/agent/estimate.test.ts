/** How large the context is: estimated on the safe side, and as the provider counts it where it does. */
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { tokensOf } from "../../../plugins/agent/estimate.ts";
import { ok, startAgent } from "./kit.ts";
import { call, calls, done, say, text } from "./model.ts";

const perCharacter = (content: string) => tokensOf(content) / content.length;

test("H-029: base64, hashes and dumps count a token a character, in one line and in many", () => {
  const bytes = randomBytes(30_000);
  const hex = bytes.toString("hex");
  expect(perCharacter(bytes.toString("base64"))).toBeGreaterThan(0.85);
  expect(perCharacter(bytes.toString("base64").replace(/.{76}/g, "$&\n"))).toBeGreaterThan(0.75);
  expect(perCharacter(bytes.toString("base64url"))).toBeGreaterThan(0.85);
  expect(perCharacter(hex)).toBe(1);
  expect(perCharacter(hex.replace(/.{4}/g, "$& "))).toBeGreaterThan(0.9);
  expect(perCharacter(hex.replace(/.{40}/g, "$& file\n"))).toBeGreaterThan(0.85);
});

test("H-030: what people write counts a token four bytes, paths, rules and code with it", () => {
  for (const path of ["plugins/agent/turn.ts", "docs/backends.md", "package.json"])
    expect(perCharacter(readFileSync(path, "utf8"))).toBeLessThan(0.27);
  expect(perCharacter("/usr/lib/modules/kernel/drivers/media/platform/something\n".repeat(99))).toBeLessThan(0.26);
  expect(perCharacter("=".repeat(4_000))).toBe(0.25);
  expect(tokensOf("")).toBe(0);
  expect(tokensOf("日本語")).toBeGreaterThanOrEqual(2);
});

test("a text of megabytes is judged by parts of it, wherever they lie", () => {
  const prose = "The quick brown fox jumps over the lazy dog, and nobody knows why.\n".repeat(20_000);
  const hex = randomBytes(prose.length / 2).toString("hex");
  expect(perCharacter(prose)).toBeLessThan(0.27);
  expect(perCharacter(hex)).toBe(1);
  for (const mixed of [prose + hex, hex + prose]) {
    expect(perCharacter(mixed)).toBeGreaterThan(0.57);
    expect(perCharacter(mixed)).toBeLessThan(0.7);
  }
});

const sizeOf = async (read: (path: string) => Promise<string>, A: string) =>
  Number(/^ctxsz=(\d+)/m.exec(await read(`${A}/stats`))?.[1]);

test("H-030: a flood without blanks is cut to half of the window by its estimate, not by its bytes", async () => {
  const flood = randomBytes(450_000).toString("base64");
  const { fs, A, model, idle } = await startAgent({ run: () => ok(flood) });
  model.window = 32_000;
  model.replies = [calls(call("look")), say("ok")];
  await fs.write(`${A}/prompt`, "go");
  await idle();
  const result = model.requests[1]?.messages.at(-1)?.content ?? "";
  expect(result).toMatch(/\n\(cut: the first \d+ of 600000 bytes; /);
  expect(result.length).toBeGreaterThan(14_000);
  expect(result.length).toBeLessThan(20_000);
  // A provider that takes a token for each character would still take it, and the estimate says about as much.
  expect(await sizeOf(fs.read, A)).toBeGreaterThan(0.85 * result.length);
});

test("H-030: what the provider counts stands in place of the estimate, and what came since is estimated", async () => {
  const { fs, A, model, idle } = await startAgent({ run: () => ok("f00d".repeat(1_000)) });
  model.window = 100_000;
  const turn = async (...replies: typeof model.replies) => {
    model.replies = replies;
    await fs.write(`${A}/prompt`, "go");
    await idle();
    return sizeOf(fs.read, A);
  };
  const used = (input: number, more = {}) => ({ type: "usage" as const, usage: { input, output: 5, ...more } });
  const estimated = await turn(calls(call("look")), say("ok"));
  expect(estimated).toBeGreaterThan(4_000);
  expect(estimated).toBeLessThan(4_200);
  const counted = await turn([text("ok"), used(1_500), done()]);
  expect(counted).toBeGreaterThanOrEqual(1_500);
  expect(counted).toBeLessThan(1_510);
  // Numbers that a backend guessed are no counts.
  expect(await turn([text("ok"), used(7, { estimated: true }), done()])).toBeGreaterThan(1_500);
  expect(await turn([call("look"), used(1_600), done()], say("ok"))).toBeGreaterThan(5_600);
  await fs.rdwr(`${A}/ctl`, "model other");
  expect(await turn(say("ok"))).toBeGreaterThan(8_000);
  await turn([text("ok"), used(9_000), done()]);
  await fs.rdwr(`${A}/ctl`, "clear");
  expect(await sizeOf(fs.read, A)).toBeLessThan(500);
});
