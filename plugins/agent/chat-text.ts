/** The filtered view of a chat log: derived from the markup while it is read, so nothing is stored twice. */
import { type Source, source } from "#core";
import { chatFilter } from "./chat-filter.ts";
import type { ChatLog } from "./chat-log.ts";

/** The same place in both texts, between two blocks. */
export interface ChatMark {
  raw: number;
  text: number;
}

export interface ChatText {
  /** Bytes of the filtered text. */
  readonly size: number;
  /** Takes note of a place between two blocks, where the log ends now. */
  mark(): ChatMark;
  /** A cursor at the beginning. */
  follow(): Source;
}

const step = 64 * 1024;
/** Markup between two entries of the index. */
const apart = 256 * 1024;

/** `known`: a place from an earlier run; what is behind it is read when somebody asks. */
export function chatText(log: ChatLog, known: ChatMark = { raw: 0, text: 0 }): ChatText {
  const index: ChatMark[] = [{ raw: 0, text: 0 }];
  if (known.raw > 0 && known.raw <= log.size) index.push(known);
  let counter = walker(log, index.at(-1) as ChatMark);
  const count = () => {
    while (counter.next() !== undefined);
    return counter.text;
  };
  const placeFor = (offset: number): ChatMark => index.findLast((mark) => mark.text <= offset) as ChatMark;
  return {
    get size() {
      return count();
    },
    mark() {
      const here = { raw: log.size, text: count() };
      if (here.raw - (index.at(-1) as ChatMark).raw >= apart) index.push(here);
      // Between two blocks a fresh machine is as good: nothing of what was read has to be kept.
      counter = walker(log, here);
      return here;
    },
    follow() {
      let at = walker(log, index[0] as ChatMark);
      let rest = Buffer.alloc(0);
      const raw = log.follow(0);
      return source({
        take() {
          if (rest.length > 0) {
            const left = rest;
            rest = Buffer.alloc(0);
            return left;
          }
          for (;;) {
            const text = at.next();
            if (text === undefined) return log.ended ? null : undefined;
            if (text !== "") return text;
          }
        },
        wait: raw.wait,
        seek(offset) {
          at = walker(log, placeFor(offset));
          for (;;) {
            const before = at.text;
            const text = at.next();
            if (text === undefined) return;
            if (at.text < offset) continue;
            rest = Buffer.from(text, "utf8").subarray(offset - before);
            return;
          }
        },
        close: raw.close,
      });
    },
  };
}

/** Filters piece by piece from a place on. */
function walker(log: ChatLog, from: ChatMark) {
  const filter = chatFilter();
  let { raw, text } = from;
  return {
    /** Bytes of text given so far, from the log's beginning. */
    get text() {
      return text;
    },
    /** The next piece, perhaps empty; undefined: nothing more for now. */
    next(): string | undefined {
      if (raw >= log.size) return undefined;
      const bytes = log.read(raw, step);
      raw += bytes.length;
      const out = filter(bytes.toString("utf8"));
      text += Buffer.byteLength(out);
      return out;
    },
  };
}
