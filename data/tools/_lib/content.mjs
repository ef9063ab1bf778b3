// Reads and writes whole files, byte-exact.
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { fail } from "./args.mjs";
import { explain, regularFile } from "./paths.mjs";

export const maxBytes = 8 << 20;

/** All bytes of a regular file of at most 8 MiB. Undefined: it does not exist. */
export function readContent(path, given) {
  const stat = regularFile(path, given);
  if (!stat) return undefined;
  if (stat.size > maxBytes)
    fail(
      `${given} has ${stat.size} bytes, more than the ${maxBytes} that file tools read; search it with file_grep, or use shell`,
    );
  let fd;
  try {
    // Not blocking: between stat and open a FIFO may have taken the place of the file.
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    if (!fstatSync(fd).isFile()) fail(`${given} is not a regular file`);
    return readAll(fd, given);
  } catch (error) {
    fail(`${given} can not be read: ${explain(error)}`);
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** Files of /proc say that they are empty and are not: read to the end, with a bound. */
function readAll(fd, given) {
  const chunks = [];
  for (let total = 0; ; ) {
    const chunk = Buffer.allocUnsafe(1 << 18);
    const count = readSync(fd, chunk, 0, chunk.length, null);
    if (count === 0) return Buffer.concat(chunks);
    total += count;
    if (total > maxBytes) fail(`${given} has more than the ${maxBytes} bytes that file tools read`);
    chunks.push(chunk.subarray(0, count));
  }
}

/** Makes a new file and its folders, with the mode that the umask says. */
export function createContent(path, bytes, given) {
  try {
    mkdirSync(dirname(path), { recursive: true });
    const fd = openSync(path, "wx");
    try {
      writeAll(fd, bytes);
    } catch (error) {
      unlinkSync(path);
      throw error;
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    fail(`${given} can not be written: ${explain(error)}`);
  }
}

/**
 * Replaces a file's content in place: mode, owner, hard links, attributes and the inode stay. When it fails in the middle
 * (no space), the old bytes are put back.
 */
export function replaceContent(path, bytes, before, given) {
  let fd;
  try {
    fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
    if (!fstatSync(fd).isFile()) fail(`${given} is not a regular file`);
    try {
      writeAll(fd, bytes);
      ftruncateSync(fd, bytes.length);
    } catch (error) {
      writeAll(fd, before);
      ftruncateSync(fd, before.length);
      throw error;
    }
  } catch (error) {
    fail(`${given} can not be written: ${explain(error)}`);
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

function writeAll(fd, bytes) {
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done, bytes.length - done, done);
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The text, or undefined where the bytes are not UTF-8. */
export function decodeUtf8(bytes) {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

export const isBinary = (bytes) => bytes.includes(0);
