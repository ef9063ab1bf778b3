// file_edit: replaces one piece of text, and not a byte beside it.
import { fail, needString, readArgs, say } from "./args.mjs";
import { decodeUtf8, isBinary, maxBytes, readContent, replaceContent } from "./content.mjs";
import { unifiedDiff } from "./diff.mjs";
import { markSeen, seen } from "./markers.mjs";
import { findAll, fitLineEnds, whyNotFound } from "./match.mjs";
import { allowedPath } from "./paths.mjs";
import { lineAt } from "./text.mjs";

/** One character per byte, and back. */
const toBytes = (text) => Buffer.from(text, "latin1");
const fromText = (text) => Buffer.from(text, "utf8").toString("latin1");

const args = readArgs();
const given = needString(args, "file_path");
const old = needString(args, "old_string");
const replacement = needString(args, "new_string");
const all = args.replace_all === true;
if (old === "") fail("old_string is empty: give the text to replace, or use file_write for a new file");
if (old === replacement) fail("old_string and new_string are equal, there is nothing to change");

const path = allowedPath(given);
const before = readContent(path, given);
if (!before) fail(`${given} does not exist`);
if (isBinary(before)) fail(`${given} is a binary file (or UTF-16), file_edit changes text only`);
const text = decodeUtf8(before);
if (text === undefined && Buffer.byteLength(replacement) > replacement.length)
  fail(`${given} is not UTF-8, so new_string may hold ASCII characters only`);
const state = seen(path, before);
if (state === "never") fail(`${given} was not read yet, read it with file_read before you change it`);

const content = before.toString("latin1");
const wanted = fromText(old);
const ranges = findAll(content, wanted);
if (ranges.length === 0)
  fail(`old_string was not found in ${given}: ${whyNotFound(content, wanted, fromText(replacement))}`);
if (ranges.length > 1 && !all) {
  const places = ranges.slice(0, 10).map(({ start }) => lineAt(content, start));
  const more = ranges.length > places.length ? ", ..." : "";
  fail(
    `old_string is in ${given} ${ranges.length} times (lines ${places.join(", ")}${more}): give more text around it, or replace_all`,
  );
}

let changed = "";
let from = 0;
for (const range of ranges) {
  changed += content.slice(from, range.start) + fitLineEnds(content, range, fromText(replacement));
  from = range.end;
}
changed += content.slice(from);
if (changed === content) fail("the edit changes nothing: old_string and new_string differ only in their line ends");
const after = toBytes(changed);
if (after.length > maxBytes) fail(`${given} would have ${after.length} bytes, file tools take at most ${maxBytes}`);
replaceContent(path, after, before, given);
// After a change by somebody else the agent still does not know the whole file.
if (state === "current") markSeen(path, after);

const show = (bytes) => decodeUtf8(bytes) ?? bytes.toString("utf8");
const { summary, text: diff } = unifiedDiff(show(before), show(after));
const count = all ? `${ranges.length} replaced, ` : "";
const note =
  state === "changed"
    ? "\n[the file had changed since you read it; read it again before you replace it as a whole]"
    : "";
say(`changed ${given}: ${count}${summary}\n${diff}${note}\n`);
