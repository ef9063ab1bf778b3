// Finds the text of an edit in a file. All strings hold one byte per character (latin1), so that offsets are bytes and
// nothing outside of the edit can change, whatever the file's encoding.
import { lineAt } from "./text.mjs";

/**
 * Ranges of `wanted` in `content`, from left to right. A line end in `wanted` fits both kinds of line end. Blanks and
 * everything else must be equal: a match that is not exact could land in the wrong place.
 */
export function findAll(content, wanted) {
  const exact = [];
  for (let at = content.indexOf(wanted); at >= 0; at = content.indexOf(wanted, at + wanted.length))
    exact.push({ start: at, end: at + wanted.length });
  if (exact.length > 0 || !/[\r\n]/.test(wanted)) return exact;
  const pattern = wanted
    .split(/\r?\n/)
    .map((line) => line.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))
    .join("\\r?\\n");
  return [...content.matchAll(new RegExp(pattern, "g"))].map((match) => ({
    start: match.index,
    end: match.index + match[0].length,
  }));
}

/**
 * The replacement for one range, with the line ends of the place where it goes: each line takes the end of the line that
 * it replaces, further ones the end that is usual there. Ends that are given as CRLF stay.
 */
export function fitLineEnds(content, { start, end }, replacement) {
  if (!replacement.includes("\n")) return replacement;
  const inside = content.slice(start, end).match(/\r?\n/g) ?? [];
  const usual = inside.at(-1) ?? nextEnd(content, end) ?? previousEnd(content, start) ?? "\n";
  let line = 0;
  return replacement.replace(/\r?\n/g, (given) => {
    const here = inside[line++] ?? usual;
    return given === "\r\n" ? given : here;
  });
}

function nextEnd(content, from) {
  const at = content.indexOf("\n", from);
  return at < 0 ? undefined : content[at - 1] === "\r" ? "\r\n" : "\n";
}

function previousEnd(content, from) {
  const at = content.lastIndexOf("\n", from - 1);
  return at < 0 || from === 0 ? undefined : content[at - 1] === "\r" ? "\r\n" : "\n";
}

/** Why nothing was found, in words that help to get it right. */
export function whyNotFound(content, wanted, replacement) {
  const plain = withoutNumbers(wanted);
  if (plain !== undefined && findAll(content, plain).length > 0)
    return "old_string holds the line numbers of file_read: leave out everything up to `| `";
  const at = looseLine(content, wanted, (line, given) => line === given);
  const done = replacement.trim() === "" ? [] : findAll(content, replacement);
  const inside = looseLine(content, wanted, (line, given) => line.includes(given));
  if (at === undefined && done[0])
    return `new_string is there already at line ${lineAt(content, done[0].start)}, perhaps the edit was made before`;
  if (at ?? inside)
    return `it differs in whitespace at line ${at ?? inside}: copy tabs and blanks exactly as file_read shows them`;
  const first = wanted.split(/\r?\n/).find((line) => line.trim() !== "");
  const index = first === undefined ? -1 : content.indexOf(first.trim());
  if (index >= 0 && /\n/.test(wanted.trim()))
    return `its first line is at line ${lineAt(content, index)}, but what follows differs`;
  return "read the file again and copy the text exactly";
}

/** `wanted` without the prefixes of file_read, where every line has one. */
function withoutNumbers(wanted) {
  const lines = wanted.split(/\r?\n/);
  const prefix = /^ *\d+\| /;
  const full = lines.filter((line) => line !== "");
  if (full.length === 0 || !full.every((line) => prefix.test(line))) return undefined;
  return lines.map((line) => line.replace(prefix, "")).join("\n");
}

/**
 * The first place where all lines of `wanted` fit but for their whitespace: there the first line that is not equal. `fits`
 * compares a single line; several lines must be whole ones.
 */
function looseLine(content, wanted, fits) {
  const squeeze = (line) => line.replace(/\s+/g, "");
  const given = wanted.replace(/^(\s*\n)+|(\n\s*)+$/g, "").split(/\r?\n/);
  const loose = given.map(squeeze);
  if (loose.every((line) => line === "")) return undefined;
  const lines = content.split(/\r?\n/);
  const squeezed = lines.map(squeeze);
  if (given.length === 1) {
    const at = squeezed.findIndex((line) => fits(line, loose[0]));
    return at < 0 ? undefined : at + 1;
  }
  for (let at = 0; at + loose.length <= lines.length; at++)
    if (loose.every((line, i) => line === squeezed[at + i]))
      return (
        at +
        1 +
        Math.max(
          0,
          given.findIndex((line, i) => line !== lines[at + i]),
        )
      );
  return undefined;
}
