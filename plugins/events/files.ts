/** /eventwait: the stream of events for scripts, one answer per read, nothing lost in between. */
import { type Base, type Leaf, leaf } from "#core";
import { type EventBus, RESYNC } from "./service.ts";

export function eventwait(events: EventBus): Leaf<Base> {
  const cursors = new WeakMap<object, number>();

  /** Waits until a line that the reader may see stands behind this fid's cursor; gives all of them and moves the cursor. */
  const next = async (c: Base): Promise<string> => {
    for (;;) {
      const lines = events.ring.since(cursors.get(c.fid) ?? events.ring.end);
      cursors.set(c.fid, events.ring.end);
      if (lines === undefined) return RESYNC;
      const wanted = events.visible(c.principal);
      const text = lines.filter(({ topic }) => wanted(topic)).map(({ line }) => line);
      if (text.length > 0) return text.join("");
      await woken(events, c.signal);
    }
  };

  return leaf<Base>("eventwait", {
    doc:
      "Events as lines, from the open on. A read blocks until there are some and gives all that are queued; a read at " +
      "offset 0 of the same open file asks for the next ones, and none is lost between. A reader that fell 1000 lines " +
      "behind gets the line R resync. First letters: S session, A agent, B bypass, P process, E failure; ignore others.",
    rights:
      "an agent gets the events of its session, of the sessions that it made, and of the agent that made its session",
    blockOnce(c, last) {
      if (last === undefined) cursors.set(c.fid, events.ring.end);
      return next(c);
    },
  });
}

/** Resolves at the next line; rejects when the reader is gone. */
function woken(events: EventBus, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const gone = () => {
      undo();
      reject(signal.reason);
    };
    const undo = events.waiting.add(() => {
      signal.removeEventListener("abort", gone);
      resolve();
    });
    signal.addEventListener("abort", gone, { once: true });
  });
}
