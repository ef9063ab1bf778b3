/** The event bus: publishes lines to subscribers by topic, and keeps the last ones for /eventwait. */
import { bus, cutText, type Principal, type Source, source, type Text, type Waiters, waiters } from "#core";
import { type Ring, ring } from "./ring.ts";
import { matcher } from "./topics.ts";
import type { Events } from "./types.ts";

/** Bytes of one line. */
export const LINE_BYTES = 4 * 1024;
/** Told to a reader that lost lines: it has to look at the listings again. */
export const RESYNC = "R resync\n";

export interface EventBus extends Events {
  readonly ring: Ring;
  /** Woken at each line. */
  readonly waiting: Waiters;
  /** Subscribers now. */
  readonly size: number;
  /** Whether `principal` may see lines of a topic. */
  visible(principal: Principal): (topic: string) => boolean;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is replaced
const control = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g;

/** One line, newline included: control characters become a blank, and it is cut to LINE_BYTES. */
export const oneLine = (line: string): string => `${cutText(line.replace(control, " ").trimEnd(), LINE_BYTES - 1)}\n`;

export function eventBus(): EventBus {
  const subscribers = new Set<{ matches: (topic: string) => boolean; put: (line: string) => void }>();
  const lines = ring();
  const waiting = waiters();
  const shown = new Set<Parameters<Events["show"]>[0]>();
  return {
    ring: lines,
    waiting,
    get size() {
      return subscribers.size;
    },
    visible(principal) {
      if (principal.kind !== "agent") return matcher("*");
      const patterns = [`session.${principal.session ?? ""}.*`, ...[...shown].flatMap((fn) => fn(principal))];
      const matchers = patterns.map(matcher);
      return (topic) => matchers.some((matches) => matches(topic));
    },
    show(patterns) {
      shown.add(patterns);
      return () => shown.delete(patterns);
    },
    publish(topic, text) {
      const line = oneLine(text);
      lines.push(topic, line);
      for (const subscriber of subscribers) if (subscriber.matches(topic)) subscriber.put(line);
      waiting.wakeAll();
    },
    subscribe(pattern) {
      const own = bus({ lost: RESYNC });
      const reader = own.subscribe();
      const entry = { matches: matcher(pattern), put: own.publish };
      subscribers.add(entry);
      return closing(reader, () => subscribers.delete(entry));
    },
  };
}

/** `reader`, with `done` called when it is closed or its loop is left. */
function closing(reader: Source & AsyncIterable<Text>, done: () => void): Source & AsyncIterable<Text> {
  const close = () => {
    done();
    reader.close();
  };
  return Object.assign(source({ take: reader.take, wait: reader.wait, close }), {
    async *[Symbol.asyncIterator]() {
      try {
        yield* reader;
      } finally {
        close();
      }
    },
  });
}
