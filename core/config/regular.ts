/** Reads files that somebody else may have put where they are, such as a tool of an agent that works in the same folder. */
import { closeSync, constants, fstatSync, openSync, readFileSync, readlinkSync, realpathSync } from "node:fs";

export interface Regular {
  /** Where it really lies: the path of what was read, whatever links lead elsewhere a moment later. */
  real: string;
  bytes: Buffer;
}

const { O_RDONLY, O_NONBLOCK, O_NOCTTY } = constants;

/**
 * A regular file of at most `max` bytes; undefined where nothing is there. Throws where it can not be read, and for all
 * that is no regular file: a pipe would be waited for, and a device has no end.
 */
export function readRegular(path: string, max = 1 << 20): Regular | undefined {
  let fd: number;
  try {
    fd = openSync(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw error;
  }
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile()) throw new Error(`${path} is no regular file`);
    if (stat.size > max) throw new Error(`${path} is larger than ${max} bytes`);
    return { real: realPathOf(fd) ?? realpathSync.native(path), bytes: readFileSync(fd) };
  } finally {
    closeSync(fd);
  }
}

/** The path of an open file. Undefined: this system does not tell. */
export function realPathOf(fd: number): string | undefined {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return undefined;
  }
}
