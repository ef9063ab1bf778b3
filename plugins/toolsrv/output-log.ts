/** The last part of an output that goes on, for any number of readers, each at its own place. */
import { type Source, source, waiters } from "#core";

export interface OutputLog {
  push(chunk: Uint8Array): void;
  /** Readers get their end behind what is there. */
  end(): void;
  /** Bytes so far, those that are no longer kept included. */
  readonly size: number;
  /** From the first byte that is kept; a reader that falls behind is told how much it missed. `onRead` is told each read. */
  reader(onRead?: () => void): Source;
}

/** Keeps at least the last `keep` bytes, at most one chunk more. */
export function outputLog(keep = 256 << 10): OutputLog {
  let chunks: Uint8Array[] = [];
  /** Place of the first byte that is kept. */
  let first = 0;
  let size = 0;
  let ended = false;
  const waiting = waiters();

  /** What is kept from place `at` on, in one piece of at most `max` bytes. */
  const piece = (at: number, max: number): Uint8Array => {
    let from = first;
    for (const chunk of chunks) {
      if (at < from + chunk.length) return chunk.subarray(at - from, at - from + max);
      from += chunk.length;
    }
    return new Uint8Array(0);
  };

  return {
    push(chunk) {
      if (chunk.length === 0 || ended) return;
      chunks.push(chunk);
      size += chunk.length;
      let gone = 0;
      while (chunks.length > gone + 1 && size - first - (chunks[gone] as Uint8Array).length >= keep)
        first += (chunks[gone++] as Uint8Array).length;
      if (gone > 0) chunks = chunks.slice(gone);
      waiting.wakeAll();
    },
    end() {
      ended = true;
      waiting.wakeAll();
    },
    get size() {
      return size;
    },
    reader(onRead = () => {}) {
      let at = first;
      return source({
        take(max) {
          if (at < first) {
            const missed = first - at;
            at = first;
            return `\n[... ${missed} bytes are no longer kept ...]\n`;
          }
          if (at >= size) return ended ? null : undefined;
          const bytes = piece(at, max);
          at += bytes.length;
          onRead();
          return bytes;
        },
        wait: waiting.add,
        close() {},
      });
    },
  };
}
