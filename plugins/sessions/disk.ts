/** Writing that survives a crash, and errors that a person understands. */
import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  realpathSync,
  renameSync,
  statSync,
} from "node:fs";
import { type FileHandle, open, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { makeDir, messageOf, NineError } from "#core";

/** Makes `dir`, closed to others whatever the umask and whatever it was before. Throws where it is one like /tmp. */
export function privateDir(dir: string): void {
  makeDir(dir);
  if (statSync(dir).mode & sticky) throw new Error(`${dir} is a folder that users share, name one of your own`);
  chmodSync(dir, 0o700);
}

// sys/stat.h
const sticky = 0o1000;

/**
 * Replaces `path` as a whole by what `write` makes: whoever reads it, also after a power cut, gets the old file or the new one.
 * `replaced` is called in the tick in which the new one takes its place.
 */
export async function replaceFile<T>(
  path: string,
  write: (file: FileHandle) => Promise<T>,
  replaced: (result: T) => void = () => {},
): Promise<void> {
  const draft = `${path}.tmp`;
  await rm(draft, { force: true });
  try {
    let result: T;
    const file = await open(draft, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
    try {
      result = await write(file);
      await file.sync();
    } finally {
      await file.close();
    }
    renameSync(draft, path);
    replaced(result);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  await syncDir(dirname(path));
}

/** Makes names that were created, renamed or removed in `dir` last. */
export async function syncDir(dir: string): Promise<void> {
  const handle = await open(dir, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The first line of a file, without its newline. */
export function firstLine(path: string): string {
  const file = openSync(path, constants.O_RDONLY);
  try {
    const chunk = Buffer.alloc(64 * 1024);
    const pieces: Buffer[] = [];
    for (;;) {
      const count = readSync(file, chunk);
      const end = chunk.subarray(0, count).indexOf(0x0a);
      pieces.push(Buffer.from(chunk.subarray(0, end < 0 ? count : end)));
      if (end >= 0 || count === 0) return Buffer.concat(pieces).toString("utf8");
    }
  } finally {
    closeSync(file);
  }
}

/** The last `count` bytes of a file. */
export function lastBytes(path: string, count: number): string {
  const file = openSync(path, constants.O_RDONLY);
  try {
    const from = Math.max(0, fstatSync(file).size - count);
    const bytes = Buffer.alloc(count);
    return bytes.toString("latin1", 0, readSync(file, bytes, 0, count, from));
  } finally {
    closeSync(file);
  }
}

const reasons: Record<string, string> = {
  ENOSPC: "no space left",
  EDQUOT: "disk quota exceeded",
  EROFS: "read-only file system",
  EIO: "input/output error",
};

/** An error for people: `sessions: no space left on /mnt/x`. Names the file system where the disk is to blame. */
export function diskError(what: string, path: string, error: unknown): NineError {
  const reason = reasons[(error as NodeJS.ErrnoException | undefined)?.code ?? ""];
  return new NineError(reason ? `${what}: ${reason} on ${mountOf(path)}` : `${what}: ${messageOf(error)}`);
}

/** The mount point that `path` lies below; `path` itself where /proc does not say. */
function mountOf(path: string): string {
  try {
    const real = realpathSync(dirname(path));
    const points = readFileSync("/proc/self/mountinfo", "utf8")
      .split("\n")
      .map((line) =>
        (line.split(" ")[4] ?? "").replace(/\\(\d{3})/g, (_, o) => String.fromCharCode(Number.parseInt(o, 8))),
      );
    const above = points.filter((at) => at === "/" || real === at || real.startsWith(`${at}/`));
    return above.sort((a, b) => b.length - a.length).find((at) => at !== "") ?? path;
  } catch {
    return path;
  }
}

/** All bytes from `from` to `to`. Throws where the file, which `what` names, has not as many. */
export function bytesOf(file: number, from: number, to: number, what = "it"): Buffer {
  const bytes = Buffer.alloc(to - from);
  for (let done = 0; done < bytes.length; ) {
    const count = readSync(file, bytes, done, bytes.length - done, from + done);
    if (count === 0) throw new Error(`${what} is shorter than it was`);
    done += count;
  }
  return bytes;
}
