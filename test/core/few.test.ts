/** The set that nearly always holds one thing is still a set. */
import { expect, test } from "vitest";
import { Few } from "../../core/few.ts";

const [a, b, c] = [{ name: "a" }, { name: "b" }, { name: "c" }] as const;
const filled = (...things: object[]): Few<object> => {
  const few = new Few<object>();
  for (const one of things) few.add(one);
  return few;
};
const emptied = (few: Few<object>): object[] => {
  const all: object[] = [];
  few.empty((one) => void all.push(one));
  return all;
};

test("holds each thing once, in order of arrival, whichever is taken out", () => {
  const few = filled(a, b, a, c, b);
  expect(few.size).toBe(3);
  few.delete(a);
  // What comes now does not take the place of the first.
  few.add(a);
  expect(few.size).toBe(3);
  expect(emptied(few)).toEqual([b, c, a]);
  const other = filled(a, b, c);
  other.delete(b);
  other.delete(b);
  expect(emptied(other)).toEqual([a, c]);
});

test("what is added while it is emptied stays", () => {
  const few = filled(a, b);
  few.empty((one) => few.add(one === a ? c : a));
  expect(emptied(few)).toEqual([c, a]);
  expect(few.size).toBe(0);
});

test("is drained up to the first that stays; what is added meanwhile has its turn", () => {
  const few = filled(a, b);
  const seen: object[] = [];
  few.drain((one) => {
    seen.push(one);
    if (one === a) few.add(c);
    return one !== c;
  });
  expect(seen).toEqual([a, b, c]);
  expect(emptied(few)).toEqual([c]);
});
