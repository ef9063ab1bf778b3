/**
 * Server-sent events from bytes, as they come: any line end, any cut, comments, several `data:` lines. The WHATWG rule
 * drops a last event that no blank line ends; here it counts, since servers are seen that leave it out.
 */

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

/** `limit`: most characters of one line or event. Default 4 Mi. */
export function sseParser(limit = 4 * 1024 * 1024): SseParser {
  const decoder = new TextDecoder(); // keeps half characters for the next chunk, drops a byte order mark
  let rest = "";
  let skipLf = false; // the last chunk ended in CR: a line end by itself, or half of one
  let event = "";
  let data: string[] = [];
  let size = 0;

  function line(text: string, out: ServerEvent[]): void {
    if (text === "") {
      if (data.length > 0) out.push({ event: event || "message", data: data.join("\n") });
      event = "";
      data = [];
      size = 0;
      return;
    }
    const colon = text.indexOf(":");
    const field = colon < 0 ? text : text.slice(0, colon);
    const value = colon < 0 ? "" : text.slice(text[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "data") {
      size += value.length;
      if (size > limit) throw new RangeError(`an event is over ${limit} characters`);
      data.push(value);
    } else if (field === "event") event = value;
  }

  function lines(text: string): ServerEvent[] {
    const out: ServerEvent[] = [];
    if (text === "") return out;
    let start = skipLf && text[0] === "\n" ? 1 : 0;
    skipLf = false;
    let cr = text.indexOf("\r", start);
    for (;;) {
      if (cr >= 0 && cr < start) cr = text.indexOf("\r", start);
      const lf = text.indexOf("\n", start);
      const at = cr >= 0 && (lf < 0 || cr < lf) ? cr : lf;
      if (at < 0) break;
      line(rest + text.slice(start, at), out);
      rest = "";
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
    push: (bytes) => lines(decoder.decode(bytes, { stream: true })),
    end() {
      const out = lines(decoder.decode());
      if (rest !== "") line(rest, out);
      rest = "";
      line("", out);
      return out;
    },
  };
}
