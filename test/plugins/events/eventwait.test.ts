/** The handler alone, called as the kernel calls blockOnce: at open, then with the last answer. */
import { expect, test } from "vitest";
import type { Base, Handlers, Principal } from "#core";
import { eventwait } from "../../../plugins/events/files.ts";
import { RING_LINES } from "../../../plugins/events/ring.ts";
import { eventBus } from "../../../plugins/events/service.ts";

const user: Principal = { name: "u", groups: [], kind: "user" };

function reader(events: ReturnType<typeof eventBus>, principal = user) {
  const handler = (eventwait(events).spec as Handlers<Base>).blockOnce;
  if (!handler) throw new Error("eventwait has no blockOnce");
  const gone = new AbortController();
  const c: Base = { fid: {}, principal, path: "/eventwait", signal: gone.signal };
  return {
    open: () => handler(c) as Promise<string>,
    next: (last: string) => handler(c, last) as Promise<string>,
    gone,
  };
}

test("an answer holds all queued lines, and none is lost between two reads", async () => {
  const events = eventBus();
  events.publish("a", "before the open");
  const one = reader(events);
  const first = one.open();
  events.publish("a", "1");
  events.publish("a", "2");
  expect(await first).toBe("1\n2\n");
  events.publish("a", "3");
  events.publish("a", "4");
  expect(await one.next("1\n2\n")).toBe("3\n4\n");
  const waiting = one.next("3\n4\n");
  events.publish("a", "5");
  expect(await waiting).toBe("5\n");
});

test("a reader that fell out of the ring is told so, once", async () => {
  const events = eventBus();
  const one = reader(events);
  const first = one.open();
  events.publish("a", "0");
  await first;
  for (let n = 0; n <= RING_LINES; n++) events.publish("a", `${n}`);
  expect(await one.next("0\n")).toBe("R resync\n");
  const after = one.next("R resync\n");
  events.publish("a", "later");
  expect(await after).toBe("later\n");
});

test("an agent gets the events of its own session only", async () => {
  const events = eventBus();
  const one = reader(events, { name: "a", groups: ["agent"], kind: "agent", session: "s1", agent: "a1" });
  const first = one.open();
  events.publish("session.s2.state", "not mine");
  events.publish("session.s1.state", "mine");
  expect(await first).toBe("mine\n");
});

test("a reader that goes leaves no waiter behind", async () => {
  const events = eventBus();
  const one = reader(events);
  const first = one.open();
  expect(events.waiting.size).toBe(1);
  one.gone.abort();
  await expect(first).rejects.toThrow();
  expect(events.waiting.size).toBe(0);
});
