import fc from "fast-check";
import { expect, test } from "vitest";
import { type ServerEvent, sseParser } from "../../../plugins/backends/sse.ts";

function parse(chunks: Uint8Array[], limit?: number): ServerEvent[] {
  const parser = sseParser(limit);
  return [...chunks.flatMap((chunk) => parser.push(chunk)), ...parser.end()];
}

function cut(bytes: Uint8Array, at: number[]): Uint8Array[] {
  const marks = [0, ...at.map((n) => n % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return marks.slice(1).map((end, i) => bytes.subarray(marks[i], end));
}

const line = fc.string({ unit: "grapheme" }).map((text) => text.replace(/[\r\n\uFEFF]/g, ""));
const event = fc.array(line, { minLength: 1, maxLength: 3 });
const lineEnd = fc.constantFrom("\n", "\r\n", "\r");

test("events are the same whatever the line ends and wherever the network cuts", () => {
  fc.assert(
    fc.property(
      fc.array(event, { maxLength: 5 }),
      lineEnd,
      fc.array(fc.nat()),
      fc.boolean(),
      (events, end, at, bare) => {
        const text = events.map((data) => [": note", ...data.map((d) => `data: ${d}`), "", ""].join(end)).join("");
        const bytes = Buffer.from(bare ? text.slice(0, text.length - end.length) : text);
        const expected = events.map((data) => ({ event: "message", data: data.join("\n") }));
        expect(parse(cut(bytes, at))).toEqual(expected);
        expect(parse(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(expected);
      },
    ),
    { numRuns: 200 },
  );
});

test("any bytes at all are survived", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 40 })), (chunks) => {
      for (const { data } of parse(chunks)) expect(typeof data).toBe("string");
    }),
  );
});

test("an event has its name, and the next one has not", () => {
  const events = parse([Buffer.from("event: error\ndata: a\nid: 7\nretry: 1\n\ndata: b\n\n")]);
  expect(events).toEqual([
    { event: "error", data: "a" },
    { event: "message", data: "b" },
  ]);
});

test("only the first space behind the colon is taken off", () => {
  expect(parse([Buffer.from("data:  a \n\ndata\n\n")])).toEqual([
    { event: "message", data: " a " },
    { event: "message", data: "" },
  ]);
});

test("a line or an event without end is refused", () => {
  const long = Buffer.from("x".repeat(60));
  expect(() => parse([Buffer.from("data: "), long, long], 100)).toThrow(RangeError);
  expect(() => parse(Array(5).fill(Buffer.from(`data: ${"x".repeat(60)}\n`)), 100)).toThrow(RangeError);
});
