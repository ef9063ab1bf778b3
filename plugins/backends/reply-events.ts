/** From the batches of a stream to the events of a reply: the loop that every backend with a network has. */
import type { StreamEvent } from "./types.ts";

/** What makes events of a provider's items. */
export interface ReplyReader<T> {
  /** The events of an item. Throws BackendError where it holds an error. */
  take(item: T): readonly StreamEvent[];
  /** The end mark came: nothing of the stream is read behind it. */
  readonly over?: boolean;
}

/**
 * The events of `batches`, of which there is one for each piece that came over the network. Text that came together is
 * one event: what an event costs (promises, a write of the log, a wake-up of its readers) is paid once a piece, not once a
 * token, and still nothing waits for what has not come. A batch of which nothing can be given out is a sign of life.
 */
export async function* replyEvents<T>(
  batches: AsyncIterable<readonly T[]>,
  reply: ReplyReader<T>,
): AsyncGenerator<StreamEvent> {
  for await (const batch of batches) {
    const { events, fault } = eventsOf(batch, reply);
    for (const event of events) yield event;
    if (fault) throw fault.error;
    if (reply.over) return;
    if (events.length === 0) yield { type: "progress" };
  }
}

/** A fault does not take away what came before it: that was said, and is shown. */
function eventsOf<T>(
  batch: readonly T[],
  reply: ReplyReader<T>,
): { events: StreamEvent[]; fault?: { error: unknown } } {
  const events: StreamEvent[] = [];
  try {
    for (const item of batch) {
      for (const event of reply.take(item)) add(events, event);
      if (reply.over) break;
    }
  } catch (error) {
    return { events, fault: { error } };
  }
  return { events };
}

function add(events: StreamEvent[], event: StreamEvent): void {
  const last = events.at(-1);
  if (event.type === "text" && last?.type === "text") last.text += event.text;
  else if (event.type === "reasoning" && last?.type === "reasoning") last.text += event.text;
  else events.push(event);
}
