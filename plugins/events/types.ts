/** What others may import of plugin events. */
import { type Principal, type Source, token } from "#core";

/**
 * Dotted topics, `session.{sid}.agent.{aid}.state`, with ancestor wildcards (`session.*`, `*`). A line is what a person
 * or script reads in /eventwait: `A state session/s1/agent/a1 idle` (letters: namespace.md, "Event lines").
 */
export interface Events {
  /** `line` without newline; control characters are replaced. */
  publish(topic: string, line: string): void;
  /** Lines with their newline, from now on. Close it when done. */
  subscribe(pattern: string): Source & AsyncIterable<string | Uint8Array>;
  /** Says what an agent sees in /eventwait beside its own session: patterns, asked for at each line. Returns its undo. */
  show(patterns: (agent: Principal) => readonly string[]): () => void;
}

export const Events = token<Events>("events");
