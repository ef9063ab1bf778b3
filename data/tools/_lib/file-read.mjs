// file_read: lines with their numbers.
import { fail, needString, optionalCount, readArgs, say } from "./args.mjs";
import { decodeUtf8, isBinary, readContent } from "./content.mjs";
import { markSeen } from "./markers.mjs";
import { allowedPath } from "./paths.mjs";
import { clip, splitLines } from "./text.mjs";

const maxOutput = 62 << 10;
const maxColumns = 2000;

const args = readArgs();
const given = needString(args, "file_path");
const offset = optionalCount(args, "offset", 1, 1);
const limit = optionalCount(args, "limit", 1, 2000);

const path = allowedPath(given);
const bytes = readContent(path, given);
if (!bytes) fail(`${given} does not exist`);
if (isBinary(bytes)) fail(`${given} is a binary file of ${bytes.length} bytes`);

const text = decodeUtf8(bytes);
const { lines, ends } = splitLines(text ?? bytes.toString("utf8"));
if (lines.length > 0 && offset > lines.length)
  fail(`offset ${offset} is past the end, ${given} has ${lines.length} lines`);
markSeen(path, bytes);

const out = [];
let size = 0;
let next = offset - 1;
for (; next < Math.min(lines.length, offset - 1 + limit) && size < maxOutput; next++) {
  const line = `${String(next + 1).padStart(5)}| ${clip(lines[next], maxColumns)}`;
  out.push(line);
  size += Buffer.byteLength(line) + 1;
}
if (lines.length === 0) out.push("(empty file)");
if (next < lines.length) out.push(`[lines ${offset} to ${next} of ${lines.length}; go on with offset=${next + 1}]`);
if (ends !== "LF" && lines.length > 0) out.push(`[line ends: ${ends}]`);
if (text === undefined) out.push("[not UTF-8: bytes that are no characters are shown as \ufffd]");
say(`${out.join("\n")}\n`);
