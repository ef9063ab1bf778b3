import { expect, test } from "vitest";
import { ring } from "../../../plugins/events/ring.ts";
import { eventBus, LINE_BYTES } from "../../../plugins/events/service.ts";
import { matcher } from "../../../plugins/events/topics.ts";

test("patterns select all, what is below a topic, or one topic", () => {
  expect(matcher("*")("a.b")).toBe(true);
  expect(matcher("session.*")("session.1.agent.2.state")).toBe(true);
  expect(matcher("session.*")("session")).toBe(false);
  expect(matcher("session.*")("sessions.1")).toBe(false);
  expect(matcher("session.1")("session.1")).toBe(true);
  expect(matcher("session.1")("session.1.kill")).toBe(false);
});

test("a subscriber gets the lines of its pattern, in order, and none after close", () => {
  const events = eventBus();
  const mine = events.subscribe("session.1.*");
  const all = events.subscribe("*");
  events.publish("session.1.state", "A state one");
  events.publish("session.2.state", "A state two");
  expect(mine.take(1000)).toBe("A state one\n");
  expect(mine.take(1000)).toBeUndefined();
  expect(all.take(1000)).toBe("A state one\n");
  expect(all.take(1000)).toBe("A state two\n");
  mine.close();
  all.close();
  expect(events.size).toBe(0);
});

test("a for-await loop that is left unsubscribes", async () => {
  const events = eventBus();
  const seen: unknown[] = [];
  const loop = (async () => {
    for await (const line of events.subscribe("*")) {
      seen.push(line);
      if (seen.length === 2) break;
    }
  })();
  events.publish("a", "one");
  events.publish("a", "two");
  events.publish("a", "three");
  await loop;
  expect(seen).toEqual(["one\n", "two\n"]);
  expect(events.size).toBe(0);
});

test("a line stays one line, without control characters, cut at a whole character", () => {
  const events = eventBus();
  const reader = events.subscribe("*");
  events.publish("a", "E session/x bad\nS kill session/y\u001b[31m\u0000end\n");
  expect(reader.take(1000)).toBe("E session/x bad S kill session/y [31m end\n");
  events.publish("a", "é".repeat(LINE_BYTES));
  const long = reader.take(10_000) as string;
  expect(Buffer.byteLength(long)).toBeLessThanOrEqual(LINE_BYTES);
  expect(long).toMatch(/^é+\n$/);
  reader.close();
});

test("the ring knows which lines it has lost", () => {
  const lines = ring(3);
  for (const n of [0, 1, 2, 3, 4]) lines.push("t", `${n}\n`);
  expect(lines.end).toBe(5);
  expect(lines.since(5)).toEqual([]);
  expect(lines.since(2)?.map((l) => l.line)).toEqual(["2\n", "3\n", "4\n"]);
  expect(lines.since(1)).toBeUndefined();
});
