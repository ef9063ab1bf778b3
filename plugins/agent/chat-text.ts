/** The filtered view of a chat log: derived from the markup while it is read, so nothing is stored twice. */
import { type Source, source } from "#core";
import { chatFilter } from "./chat-filter.ts";
import { type ChatLog, type ChatMark, wholeCharacters } from "./chat-log.ts";

export interface ChatText {
  /** Bytes of the filtered text. */
  readonly size: number;
  /** Takes note of a place between two blocks, where the log ends now. */
  mark(): ChatMark;
  /** Reads on a little; false: there is nothing more to read. Spares `size` and `mark` from reading much at once. */
  advance(): boolean;
  /** A cursor at the beginning. */
  follow(): Source;
}

const step = 64 * 1024;
/** Markup between two entries of the index. */
const apart = 256 * 1024;

/** `known`: a place from an earlier run; what is behind it is read when somebody asks. */
export function chatText(log: ChatLog, known: ChatMark = { raw: 0, text: 0 }): ChatText {
  let index: ChatMark[] = [log.start];
  if (known.raw > log.start.raw && known.raw <= log.size) index.push(known);
  let counter = walker(log, index.at(-1) as ChatMark);
  const count = () => {
    while (counter.next() !== undefined);
    return counter.text;
  };
  const placeFor = (offset: number): ChatMark => {
    if ((index[0] as ChatMark).raw < log.start.raw)
      index = [log.start, ...index.filter(({ raw }) => raw > log.start.raw)];
    return index.findLast((mark) => mark.text <= offset) ?? (index[0] as ChatMark);
  };
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
    advance: () => counter.next() !== undefined,
    follow() {
      let at = walker(log, placeFor(0));
      let rest = Buffer.alloc(0);
      const raw = log.follow(0);
      return source({
        take(max) {
          while (rest.length === 0) {
            const text = at.next();
            if (text === undefined) return log.ended ? null : undefined;
            rest = Buffer.from(text, "utf8");
          }
          const part = rest.length > max ? wholeCharacters(rest.subarray(0, Math.max(max, 4))) : rest;
          rest = rest.subarray(part.length);
          return part;
        },
        wait: raw.wait,
        seek(offset) {
          rest = Buffer.alloc(0);
          at = walker(log, placeFor(offset));
          for (;;) {
            const before = at.text;
            const text = at.next();
            if (text === undefined) return;
            if (at.text < offset) continue;
            rest = Buffer.from(text, "utf8").subarray(Math.max(0, offset - before));
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
  let filter = chatFilter();
  let { raw, text } = from;
  return {
    /** Bytes of text given so far, from the log's beginning. */
    get text() {
      return text;
    },
    /** The next piece, perhaps empty; undefined: nothing more for now. */
    next(): string | undefined {
      if (raw >= log.size) return undefined;
      if (log.next(raw) !== raw) {
        ({ raw, text } = log.start);
        filter = chatFilter();
      }
      const bytes = log.read(raw, step);
      raw += bytes.length;
      const out = filter(bytes.toString("utf8"));
      text += Buffer.byteLength(out);
      return out;
    },
  };
}
