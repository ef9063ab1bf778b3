// file_write: a whole file, exactly as given.
import { fail, needString, readArgs, say } from "./args.mjs";
import { createContent, decodeUtf8, isBinary, maxBytes, readContent, replaceContent } from "./content.mjs";
import { unifiedDiff } from "./diff.mjs";
import { markSeen, seen } from "./markers.mjs";
import { allowedPath } from "./paths.mjs";

const args = readArgs();
const given = needString(args, "file_path");
const content = needString(args, "content");

const path = allowedPath(given);
if (given.endsWith("/")) fail(`${given} names a folder, file_write needs the name of a file`);
const bytes = Buffer.from(content);
if (bytes.length > maxBytes) fail(`content has ${bytes.length} bytes, file_write takes at most ${maxBytes}`);
const before = readContent(path, given);
if (before === undefined) createContent(path, bytes, given);
else {
  const state = seen(path, before);
  if (state === "never") fail(`${given} exists and was not read yet, read it with file_read before you replace it`);
  if (state === "changed") fail(`${given} has changed since it was read, read it again with file_read`);
  if (!before.equals(bytes)) replaceContent(path, bytes, before, given);
}
markSeen(path, bytes);

const old = before === undefined || isBinary(before) ? undefined : decodeUtf8(before);
if (before?.equals(bytes)) say(`${given} has this content already\n`);
else if (content === "") say(`${given} is an empty file now\n`);
else if (content.includes("\0")) say(`wrote ${bytes.length} bytes to ${given}\n`);
else {
  const { summary, text } = unifiedDiff(old, content);
  say(`${before === undefined ? "created" : "changed"} ${given}: ${summary}\n${text}\n`);
}
