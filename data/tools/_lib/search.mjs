// Matches in one text, as lines.
import { clip, clipAround } from "./text.mjs";

const maxColumns = 400;

/** Number of matching lines (of matches, over several lines), and the lines to show. */
export function search(text, regex, { multiline, before, after, numbers, name }) {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  const hits = multiline ? hitsAcross(text, regex, lines.length) : hitsByLine(lines, regex);
  return {
    count: hits.count,
    *lines() {
      let shown = -1;
      const { columns } = hits;
      for (const at of columns.keys())
        for (let i = Math.max(shown + 1, at - before); i <= Math.min(lines.length - 1, at + after); i++) {
          if (i <= shown) continue;
          if (shown >= 0 && i > shown + 1 && before + after > 0) yield "--";
          shown = i;
          yield format(lines[i].replace(/\r$/, ""), i, columns.get(i));
        }
    },
  };

  function format(line, index, column) {
    const mark = column === undefined ? "-" : "|";
    const number = numbers ? `:${String(index + 1).padStart(5, "0")}` : "";
    const shown = column === undefined ? clip(line, maxColumns) : clipAround(line, column, maxColumns);
    return `${name}${number}${mark} ${shown}`;
  }
}

/** Columns of the first match of each line. */
function hitsByLine(lines, regex) {
  const columns = new Map();
  for (let i = 0; i < lines.length; i++) {
    regex.lastIndex = 0;
    const match = regex.exec(lines[i].endsWith("\r") ? lines[i].slice(0, -1) : lines[i]);
    if (match) columns.set(i, match.index);
  }
  return { count: columns.size, columns };
}

function hitsAcross(text, regex, lineCount) {
  const columns = new Map();
  let count = 0;
  let line = 0;
  let lineStart = 0;
  for (const match of text.matchAll(regex)) {
    count++;
    for (
      let next = text.indexOf("\n", lineStart);
      next >= 0 && next < match.index;
      next = text.indexOf("\n", lineStart)
    ) {
      line++;
      lineStart = next + 1;
    }
    const height = match[0].replace(/\n$/, "").split("\n").length;
    for (let i = 0; i < height && line + i < lineCount; i++)
      if (!columns.has(line + i)) columns.set(line + i, i === 0 ? match.index - lineStart : 0);
  }
  return { count, columns };
}
