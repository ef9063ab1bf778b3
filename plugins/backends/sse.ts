/**
 * Server-sent events from bytes, as they come: any line end, any cut, comments, several `data:` lines. The WHATWG rule
 * drops a last event that no blank line ends; here it counts, since servers are seen that leave it out.
 */
import { StringDecoder } from "node:string_decoder";

export interface ServerEvent {
  /** `message` where no `event:` line came. */
  event: string;
  data: string;
}

export interface SseParser {
  /** The events that `bytes` completes. Throws RangeError when a line or an event grows over the limit. */
  push(bytes: Uint8Array): ServerEvent[];
  /** The event that was under way when the stream ended. */
  end(): ServerEvent[];
}

/** `limit`: most characters of one line or event. Default 16 Mi. */
export function sseParser(limit = 16 * 1024 * 1024): SseParser {
  // Keeps half characters for the next chunk, as a TextDecoder does that streams, for less.
  const decoder = new StringDecoder("utf8");
  let fresh = true; // nothing has come yet: a byte order mark may
  let rest = "";
  let skipLf = false; // the last chunk ended in CR: a line end by itself, or half of one
  let event = "";
  let data: string | undefined;

  /** The line of `text` from `start` to `end`. */
  function line(text: string, start: number, end: number, out: ServerEvent[]): void {
    if (start === end) {
      if (data !== undefined) out.push({ event: event || "message", data });
      event = "";
      data = undefined;
      return;
    }
    if (text.startsWith("data:", start)) return add(valueAt(text, start + 5, end));
    if (text.startsWith("event:", start)) event = valueAt(text, start + 6, end);
    else if (end - start === 4 && text.startsWith("data", start)) add("");
    else if (end - start === 5 && text.startsWith("event", start)) event = "";
  }

  function add(value: string): void {
    data = data === undefined ? value : `${data}\n${value}`;
    if (data.length > limit) throw new RangeError(`an event is over ${limit} characters`);
  }

  function lines(text: string): ServerEvent[] {
    const out: ServerEvent[] = [];
    if (text === "") return out;
    let start = (fresh && text[0] === "\uFEFF") || (skipLf && text[0] === "\n") ? 1 : 0;
    fresh = false;
    skipLf = false;
    let cr = text.indexOf("\r", start);
    for (;;) {
      if (cr >= 0 && cr < start) cr = text.indexOf("\r", start);
      const lf = text.indexOf("\n", start);
      const at = cr >= 0 && (lf < 0 || cr < lf) ? cr : lf;
      if (at < 0) break;
      if (rest === "") line(text, start, at, out);
      else {
        rest += text.slice(start, at);
        line(rest, 0, rest.length, out);
        rest = "";
      }
      start = at + 1;
      if (at !== cr) continue;
      if (start === text.length) skipLf = true;
      else if (text[start] === "\n") start++;
    }
    // Only joined, not searched again: a line of many small chunks stays cheap.
    rest += text.slice(start);
    if (rest.length > limit) throw new RangeError(`a line is over ${limit} characters`);
    return out;
  }

  return {
    push: (bytes) => lines(decoder.write(bytes as Buffer)),
    end() {
      const out = lines(decoder.end());
      if (rest !== "") line(rest, 0, rest.length, out);
      rest = "";
      line("", 0, 0, out);
      return out;
    },
  };
}

/** What stands behind a field's colon: one blank there is no part of it. */
const valueAt = (text: string, from: number, end: number): string =>
  text.slice(text[from] === " " ? from + 1 : from, end);
