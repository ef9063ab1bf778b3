// A unified diff, for the model and for people.
import { plural } from "./text.mjs";

const context = 3;
const maxLines = 200;
/** Beyond this many lines on both sides together the changed part is shown as replaced in one piece. */
const maxSearch = 4000;
/** Marks a last line without an end, so that it differs from the same line with one. No text file holds it. */
const noEnd = "\0";

/** What changed, and how much in words. `before` undefined: a new file. */
export function unifiedDiff(before, after) {
  const edits = script(linesOf(before ?? ""), linesOf(after));
  const added = edits.filter(([op]) => op === "+").length;
  const removed = edits.filter(([op]) => op === "-").length;
  const shown = hunks(edits);
  const cut =
    shown.length > maxLines ? [...shown.slice(0, maxLines), `[... ${shown.length - maxLines} lines more ...]`] : shown;
  return { summary: `${plural(added, "line")} added, ${removed} removed`, text: cut.join("\n") };
}

function linesOf(text) {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  else lines[lines.length - 1] += noEnd;
  return lines;
}

/** Edit script: [" " | "-" | "+", line]. Equal head and tail are cut off first, so edits of large files are cheap. */
function script(a, b) {
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const same = (lines) => lines.map((line) => [" ", line]);
  return [
    ...same(a.slice(0, head)),
    ...middle(a.slice(head, a.length - tail), b.slice(head, b.length - tail)),
    ...same(a.slice(a.length - tail)),
  ];
}

/** Longest common subsequence by a table: the parts that reach this are small. */
function middle(a, b) {
  const replaced = [...a.map((line) => ["-", line]), ...b.map((line) => ["+", line])];
  if (a.length === 0 || b.length === 0 || a.length + b.length > maxSearch) return replaced;
  const width = b.length + 1;
  const table = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      table[i * width + j] =
        a[i] === b[j]
          ? table[(i + 1) * width + j + 1] + 1
          : Math.max(table[(i + 1) * width + j], table[i * width + j + 1]);
  const out = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      out.push([" ", a[i]]);
      i++;
      j++;
    } else if (j === b.length || (i < a.length && table[(i + 1) * width + j] >= table[i * width + j + 1]))
      out.push(["-", a[i++]]);
    else out.push(["+", b[j++]]);
  }
  return out;
}

function hunks(edits) {
  const out = [];
  const near = new Uint8Array(edits.length);
  edits.forEach(([op], at) => {
    if (op !== " ") near.fill(1, Math.max(0, at - context), at + context + 1);
  });
  let oldLine = 1;
  let newLine = 1;
  for (let at = 0; at < edits.length; at++) {
    if (near[at] && !near[at - 1]) {
      let end = at;
      while (near[end]) end++;
      const part = edits.slice(at, end);
      const olds = part.filter(([op]) => op !== "+").length;
      const news = part.filter(([op]) => op !== "-").length;
      out.push(`@@ -${olds ? oldLine : oldLine - 1},${olds} +${news ? newLine : newLine - 1},${news} @@`);
    }
    const [op, line] = edits[at];
    if (near[at]) out.push(`${op}${line.replace(noEnd, "").replace(/\r$/, "")}`);
    if (near[at] && line.endsWith(noEnd)) out.push("\\ No newline at end of file");
    if (op !== "+") oldLine++;
    if (op !== "-") newLine++;
  }
  return out;
}
