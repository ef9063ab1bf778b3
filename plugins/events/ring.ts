/** The last lines, numbered, for readers that come back with the number of the next line that they want. */

/** Lines kept for /eventwait. A reader that is further behind gets `R resync`. */
export const RING_LINES = 1_000;

export interface RingLine {
  readonly topic: string;
  /** With its newline. */
  readonly line: string;
}

export interface Ring {
  push(topic: string, line: string): void;
  /** Number that the next line will get. */
  readonly end: number;
  /** Lines from number `from` on; undefined where some of them are gone. */
  since(from: number): RingLine[] | undefined;
}

export function ring(limit: number = RING_LINES): Ring {
  const slots: RingLine[] = new Array(limit);
  let end = 0;
  return {
    push(topic, line) {
      slots[end % limit] = { topic, line };
      end++;
    },
    get end() {
      return end;
    },
    since(from) {
      if (from < end - limit) return undefined;
      const lines: RingLine[] = [];
      for (let n = from; n < end; n++) lines.push(slots[n % limit] as RingLine);
      return lines;
    },
  };
}
