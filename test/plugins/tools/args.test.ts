import { describe, expect, test } from "vitest";
import { checkArgs, offeredArgs, type Tool } from "#plugins/tools";

const tool: Tool = {
  name: "t",
  description: "d",
  args: {
    type: "object",
    properties: {
      name: { type: "string" },
      count: { type: "integer" },
      tags: { type: "array", items: { type: "string" } },
      mode: { type: "string", enum: ["a", "b"] },
      any: {},
      either: { type: ["string", "null", "number"] },
    },
    required: ["name"],
  },
  aliases: { title: "name" },
  scope: "global",
  tier: "warm",
  readOnly: false,
  exact: false,
  sudo: false,
  timeout: 30,
  exec: "/t",
  meta: "/t.meta",
};
const check = (args: Record<string, unknown>, more: Partial<Tool> = {}) => checkArgs({ ...tool, ...more }, args);
const errorOf = (args: Record<string, unknown>, more: Partial<Tool> = {}) => {
  const checked = check(args, more);
  return checked.ok ? undefined : checked.error;
};

describe("arguments of a call", () => {
  test("flags are taken out, aliases renamed, nulls dropped", () => {
    expect(check({ title: "x", count: null, timeout: 5, background: false, bypass: "", sandbox: null })).toEqual({
      ok: true,
      args: { name: "x" },
      timeout: 5000,
      background: false,
    });
    expect(check({ name: "x" })).toMatchObject({ timeout: 30_000 });
    expect(check({ name: "x", timeout: 0 })).toMatchObject({ timeout: 0 });
  });

  test("H-011: a required argument that is missing is an error, never an empty text", () => {
    const missing =
      't: required argument "name" is missing (arguments: name count tags mode any either timeout sandbox background)';
    expect(errorOf({})).toBe(missing);
    expect(errorOf({ name: null })).toBe(missing);
    expect(errorOf({ name: "" })).toBeUndefined();
  });

  test("wrong types are one sentence", () => {
    expect(errorOf({ name: 5 })).toBe('t: argument "name" must be a string, not a number');
    expect(errorOf({ name: "x", count: 1.5 })).toBe('t: argument "count" must be an integer, not a number');
    expect(errorOf({ name: "x", count: "1" })).toBe('t: argument "count" must be an integer, not a string');
    expect(errorOf({ name: "x", tags: "a" })).toBe('t: argument "tags" must be an array, not a string');
    expect(errorOf({ name: "x", mode: "c" })).toBe('t: argument "mode" must be one of "a" "b"');
    expect(errorOf({ name: "x", either: true })).toContain("must be a string or a null or a number");
    expect(errorOf({ name: "x", any: { deep: [1] }, tags: [], either: 1 })).toBeUndefined();
  });

  test("what runs in the background has no time limit", () => {
    expect(check({ name: "x", background: true, timeout: 5 })).toMatchObject({ timeout: 0, background: true });
  });

  test("a call may name a profile", () => {
    expect(check({ name: "x", sandbox: "readonly" })).toMatchObject({ args: { name: "x" }, sandbox: "readonly" });
    expect(check({ name: "x", sandbox: "" })).not.toHaveProperty("sandbox");
  });

  test("an unknown argument is refused with the known ones, and before one that is missing", () => {
    const known = "(arguments: name count tags mode any either timeout sandbox background)";
    expect(errorOf({ name: "x", other: 1 })).toBe(`t: unknown argument "other" ${known}`);
    expect(errorOf({ Name: "x", "max-count": 1 })).toBe(`t: unknown arguments "Name", "max-count" ${known}`);
    expect(errorOf({ name: "x", other: 1 }, { args: { ...tool.args, additionalProperties: false } })).toContain(
      "other",
    );
    expect(errorOf({ other: 1 }, { args: { type: "object" } })).toBe(
      't: unknown argument "other" (arguments: timeout sandbox background)',
    );
    expect(errorOf(JSON.parse('{"name":"x","__proto__":{"a":1}}'))).toContain('"__proto__"');
    expect(errorOf({ name: "x", constructor: 1 })).toContain('"constructor"');
    expect(errorOf({ name: "x", title: "y" })).toBe('t: "title" and "name" are the same argument, give one');
    // A null asks for nothing.
    expect(check({ name: "x", other: null })).toMatchObject({ args: { name: "x" } });
  });

  test("a schema that is open takes what it does not name, and passes it on", () => {
    const open: Record<string, unknown>[] = [
      { additionalProperties: true },
      { additionalProperties: { type: "string" } },
      { patternProperties: { "^o": {} } },
      { anyOf: [{ properties: { other: {} } }] },
    ];
    for (const more of open)
      expect(check({ name: "x", other: "1" }, { args: { ...tool.args, ...more } })).toMatchObject({
        args: { name: "x", other: "1" },
      });
    const args = { ...tool.args, additionalProperties: true };
    const checked = check(JSON.parse('{"name":"x","__proto__":"1"}'), { args });
    expect(JSON.stringify(checked)).toContain('"__proto__":"1"');
  });

  test("flags that can not be used yet are refused when used", () => {
    expect(errorOf({ name: "x", background: "yes" })).toBe("t: background must be true or false");
    expect(errorOf({ name: "x", bypass: true })).toBe("t: bypass is not available yet, leave it out");
    expect(errorOf({ name: "x", sandbox: 1 })).toBe("t: sandbox must be a profile's name");
    expect(errorOf({ name: "x", timeout: -1 })).toContain("timeout must be seconds from 0");
    expect(errorOf({ name: "x", timeout: "5" })).toContain("timeout must be seconds from 0");
  });

  test("the model is offered the flags that work", () => {
    const offered = offeredArgs(tool);
    expect(Object.keys(offered.properties ?? {})).toEqual([
      ...Object.keys(tool.args.properties ?? {}),
      "timeout",
      "sandbox",
      "background",
    ]);
    expect(offered.properties?.timeout?.description).toContain("default 30");
    expect(offered.required).toEqual(["name"]);
    expect(offered.additionalProperties).toBe(false);
    const open = offeredArgs({ ...tool, args: { ...tool.args, additionalProperties: true } });
    expect(open.additionalProperties).toBe(true);
    expect(tool.args.properties).not.toHaveProperty("timeout");
  });
});
