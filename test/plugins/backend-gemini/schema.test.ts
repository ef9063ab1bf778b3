/** JSON Schema as far as function declarations take it. */
import { expect, test } from "vitest";
import { parametersOf } from "../../../plugins/backend-gemini/schema.ts";

const object = (properties: object, more: object = {}) => ({ type: "object", properties, ...more });

test.each<[string, object, object | undefined]>([
  ["no parameters", { type: "object", properties: {} }, undefined],
  [
    "unknown keywords",
    object(
      { a: { type: "string", minLength: 1, contentEncoding: "x" } },
      { $schema: "s", additionalProperties: false, required: ["a", "b"] },
    ),
    object({ a: { type: "string", minLength: 1 } }, { required: ["a"] }),
  ],
  [
    "a type that may be null",
    object({ a: { type: ["integer", "null"] } }),
    object({ a: { type: "integer", nullable: true } }),
  ],
  [
    "several types",
    object({ a: { type: ["integer", "string"] } }),
    object({ a: { anyOf: [{ type: "integer" }, { type: "string" }] } }),
  ],
  [
    "an alternative to null",
    object({ a: { anyOf: [{ type: "string" }, { type: "null" }] } }),
    object({ a: { type: "string", nullable: true } }),
  ],
  [
    "oneOf",
    object({ a: { oneOf: [{ type: "string" }, { type: "number" }] } }),
    object({ a: { anyOf: [{ type: "string" }, { type: "number" }] } }),
  ],
  ["a constant", object({ a: { const: "x" } }), object({ a: { type: "string", enum: ["x"] } })],
  ["numbers to choose from", object({ a: { type: "integer", enum: [1, 2] } }), object({ a: { type: "integer" } })],
  [
    "formats",
    object({ a: { type: "string", format: "uri" }, b: { type: "string", format: "date-time" } }),
    object({ a: { type: "string" }, b: { type: "string", format: "date-time" } }),
  ],
  ["a list of anything", object({ a: { type: "array" } }), object({ a: { type: "array", items: { type: "string" } } })],
  [
    "references",
    object({ a: { $ref: "#/$defs/p", description: "d" } }, { $defs: { p: { type: "string" } } }),
    object({ a: { type: "string", description: "d" } }),
  ],
  [
    "allOf",
    object({
      a: { allOf: [object({ x: { type: "string" } }, { required: ["x"] }), object({ y: { type: "number" } })] },
    }),
    object({ a: object({ x: { type: "string" }, y: { type: "number" } }, { required: ["x"] }) }),
  ],
])("%s", (_, schema, made) => {
  expect(parametersOf(schema as Record<string, unknown>)).toEqual(made);
});

test("a schema that refers to itself ends", () => {
  const tree = { $ref: "#/$defs/tree" };
  const made = parametersOf(
    object({ root: tree }, { $defs: { tree: object({ left: tree }) } }) as Record<string, unknown>,
  );
  expect(JSON.stringify(made).length).toBeLessThan(2_000);
});
