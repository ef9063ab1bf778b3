// Lines and their ends.

/** Lines without their ends, and which ends there are: `LF`, `CRLF` or `mixed`. A last line without an end counts. */
export function splitLines(text) {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  const full = text.endsWith("\n") ? lines.length : lines.length - 1;
  let returns = 0;
  for (let i = 0; i < lines.length; i++)
    if (i < full && lines[i].endsWith("\r")) {
      returns++;
      lines[i] = lines[i].slice(0, -1);
    }
  return { lines, ends: returns === 0 ? "LF" : returns === full ? "CRLF" : "mixed" };
}

/** At most `columns` characters, with a mark that tells where the cut is. */
export function clip(line, columns) {
  if (line.length <= columns) return line;
  const end = isHigh(line.charCodeAt(columns - 1)) ? columns - 1 : columns;
  return `${line.slice(0, end)}... [cut at column ${end} of ${line.length}]`;
}

/** A window of `width` characters around a match, with its column. */
export function clipAround(line, at, width) {
  if (line.length <= width) return line;
  let from = Math.max(0, Math.min(at - Math.floor(width / 3), line.length - width));
  let to = Math.min(line.length, from + width);
  if (from > 0 && isHigh(line.charCodeAt(from - 1))) from--;
  if (to < line.length && isHigh(line.charCodeAt(to - 1))) to--;
  const before = from > 0 ? "..." : "";
  const behind = to < line.length ? "..." : "";
  return `${before}${line.slice(from, to)}${behind} [columns ${from + 1} to ${to} of ${line.length}, match at ${at + 1}]`;
}

/** The first half of a character that takes two. */
const isHigh = (code) => code >= 0xd800 && code < 0xdc00;

/** Number of the line in which `index` lies, from 1. */
export function lineAt(text, index) {
  let line = 1;
  for (let at = text.indexOf("\n"); at >= 0 && at < index; at = text.indexOf("\n", at + 1)) line++;
  return line;
}

export const plural = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
