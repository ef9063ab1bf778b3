/**
 * An append-only text log with byte offsets that stay good over restarts: all of it on disk, the end of it in memory too.
 * Readers are cursors; the log keeps nothing per reader.
 */
import { closeSync, constants as fs, openSync, readSync, renameSync, statSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { setImmediate as soon } from "node:timers/promises";
import { type Source, source, waiters } from "#core";
import { limits } from "./limits.ts";

/** The same place in chat.raw and in chat, between two blocks. */
export interface ChatMark {
  raw: number;
  text: number;
}

export interface ChatLog {
  /** Whole characters. */
  append(text: string): void;
  /** Where it begins now: what was before is put aside, in `{file}.1`. */
  readonly start: ChatMark;
  /** Where a reader at `offset` goes on: there, unless that is put aside. */
  next(offset: number): number;
  /** Puts all so far aside; a notice takes its place. `here` is the present end, between two blocks. */
  rotate(here: ChatMark): void;
  /** Offset behind the last byte. */
  readonly size: number;
  /** Number of appends. */
  readonly version: number;
  /** Up to `max` bytes at `offset`, whole characters only, at least one where there is one. */
  read(offset: number, max: number): Buffer;
  /** The last `max` bytes at most, from a line's start on. */
  tail(max: number): Buffer;
  /** A cursor at `offset`. */
  follow(offset: number): Source;
  /** Resolves when all who follow it have read what there is and wait for more, or after `ms`. One call at a time. */
  caughtUp(ms: number): Promise<void>;
  /** Undefined, or a promise while more text waits for the disk than is good. */
  drain(): Promise<void> | undefined;
  /** All of it is on disk when this resolves. */
  flush(): Promise<void>;
  /** Nothing more will come. */
  readonly ended: boolean;
  /** Readers get their end when they have read everything. */
  end(): void;
}

const pageSize = 64 * 1024;
/** Pages of one write to the file. */
const together = 16;

/** Whole characters: the last bytes of one may be unused. */
interface Page {
  start: number;
  used: number;
  bytes: Buffer;
}

const encoder = new TextEncoder();

/** Opens the log that is kept in `file`, which may not exist yet. `fail` gets errors of the disk; the log goes on in memory. */
export function chatLog(file: string, fail: (error: unknown) => void): ChatLog {
  let start = startOf(file);
  let size = start.raw + sizeOf(file);
  let saved = size;
  /** The bytes from here on belong to the next file. */
  let cut: ChatMark | undefined;
  let version = 0;
  let ended = false;
  let pages: Page[] = [];
  let flushing: Promise<void> | undefined;
  const readers = waiters();
  /** Cursors that are not closed. */
  let following = 0;
  /** Called when one of them waits for more, or is closed. */
  let rested = () => {};

  const trim = () => {
    const keep = Math.min(saved, size - limits.chatMemory);
    const drop = pages.findIndex((page) => page.start + page.used > keep);
    if (drop > 0) pages = pages.slice(drop);
  };
  /** Encoded at its place: a long text is not copied once more. */
  const put = (text: string) => {
    for (let left = text; left !== ""; ) {
      const page = pages.at(-1) ?? newPage();
      const { read, written } = encoder.encodeInto(left, page.bytes.subarray(page.used));
      page.used += written;
      size += written;
      left = left.slice(read);
      if (left !== "") newPage();
    }
  };
  const newPage = (): Page => {
    const page = { start: size, used: 0, bytes: Buffer.allocUnsafe(pageSize) };
    pages.push(page);
    return page;
  };
  const pageAt = (offset: number): number => pages.findLastIndex((page) => page.start <= offset);
  /** What is next for the file, at most `together` pages. */
  const unsaved = (): Buffer[] => {
    const end = cut?.raw ?? size;
    const first = pageAt(saved);
    return pages
      .slice(first, first + together)
      .filter((page) => page.start < end)
      .map((page) => page.bytes.subarray(Math.max(0, saved - page.start), Math.min(page.used, end - page.start)));
  };
  let handle: FileHandle | undefined;
  let idle: NodeJS.Timeout | undefined;
  const closeFile = async () => {
    clearTimeout(idle);
    const last = handle;
    handle = undefined;
    await last?.close().catch(fail);
  };
  const openFile = () => open(file, fs.O_RDWR | fs.O_CREAT, 0o600);
  const save = async () => {
    clearTimeout(idle);
    try {
      while (saved < size) {
        // What else is said in this turn of the event loop is written with it, and in the next ones as long as it does not stop.
        for (let seen = 0; seen !== size && size - saved < together * pageSize; await soon()) seen = size;
        handle ??= await openFile();
        if (cut && saved >= cut.raw) {
          await closeFile();
          // In one tick: a reader must not look for the new bytes in the old file.
          renameSync(file, `${file}.1`);
          start = cut;
          cut = undefined;
          handle = await openFile();
        }
        const { bytesWritten } = await handle.writev(unsaved(), saved - start.raw);
        saved += bytesWritten;
        trim();
      }
    } catch (error) {
      fail(error);
      await closeFile();
      // Memory stays bounded on a full disk: what does not fit is a gap in the file, at its right place.
      if (size - saved > 2 * limits.chatBacklog) saved = cut && saved < cut.raw ? cut.raw : size;
    } finally {
      flushing = undefined;
      if (ended) await closeFile();
      else idle = setTimeout(closeFile, limits.chatOpen).unref();
    }
  };
  const flush = () => {
    if (saved < size) flushing ??= save();
    return flushing ?? Promise.resolve();
  };
  const fromMemory = (offset: number, max: number): Buffer | undefined => {
    const page = pages[pageAt(offset)];
    return page?.bytes.subarray(offset - page.start, Math.min(page.used, offset - page.start + max));
  };
  const read = (offset: number, max: number): Buffer => {
    if (offset >= size) return Buffer.alloc(0);
    const wanted = Math.min(Math.max(max, 4), pageSize);
    const memory = pages[0]?.start ?? size;
    const got =
      fromMemory(offset, wanted) ?? fromDisk(handle?.fd ?? file, offset - start.raw, Math.min(wanted, memory - offset));
    return wholeCharacters(got.subarray(0, wanted));
  };
  /** What is in memory can still be had. */
  const next = (offset: number): number =>
    offset >= Math.min(start.raw, pages[0]?.start ?? size) ? offset : start.raw;
  const append = (text: string) => {
    if (text === "" || ended) return;
    put(text);
    version++;
    readers.wakeAll();
    if (!flushing) void flush();
  };
  return {
    append,
    get start() {
      return start;
    },
    next,
    rotate(here) {
      if (cut || ended) return;
      cut = here;
      append(notice(here));
    },
    get size() {
      return size;
    },
    get version() {
      return version;
    },
    read,
    tail(max) {
      const from = Math.max(start.raw, size - max);
      const parts: Buffer[] = [];
      for (let at = from; at < size; at += (parts.at(-1) as Buffer).length) parts.push(read(at, size - at));
      const bytes = Buffer.concat(parts);
      return from === start.raw ? bytes : bytes.subarray(bytes.indexOf(10) + 1);
    },
    follow(offset) {
      let at = Math.min(offset, size);
      following++;
      return source({
        take(max) {
          if (at >= size) return ended ? null : undefined;
          at = next(at);
          const got = read(at, max);
          at += got.length;
          return got;
        },
        wait(wake) {
          const undo = readers.add(wake);
          rested();
          return undo;
        },
        seek(to) {
          at = Math.min(to, size);
        },
        close() {
          at = size;
          following--;
          rested();
        },
      });
    },
    caughtUp: (ms) =>
      new Promise((resolve) => {
        const limit = setTimeout(resolve, ms);
        rested = () => {
          if (readers.size < following) return;
          clearTimeout(limit);
          resolve();
        };
        rested();
      }),
    drain: () => (size - saved > limits.chatBacklog ? flush() : undefined),
    flush,
    get ended() {
      return ended;
    },
    end() {
      ended = true;
      if (!flushing) void closeFile();
      readers.wakeAll();
    },
  };
}

/** Stands where the older part was, and says where that is. */
const notice = ({ raw, text }: ChatMark): string =>
  `[[[info]]]\nthe log has grown long: it begins anew here, at byte ${raw} of chat.raw and ${text} of chat\n[[[end]]]\n`;

function startOf(file: string): ChatMark {
  const head = statSync(file, { throwIfNoEntry: false }) ? fromDisk(file, 0, 256).toString("latin1") : "";
  const [, raw, text] = /^\[\[\[info\]\]\]\n.* byte (\d+) of chat\.raw and (\d+) of chat\n/.exec(head) ?? [];
  return raw ? { raw: Number(raw), text: Number(text) } : { raw: 0, text: 0 };
}

/** Size of the file without the part of a character that a crash left at its end: it is written over. */
function sizeOf(file: string): number {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size === 0) return 0;
  const from = Math.max(0, size - 8);
  return from + wholeCharacters(fromDisk(file, from, 8)).length;
}

/** `file`: its name, or a descriptor. */
function fromDisk(file: string | number, offset: number, count: number): Buffer {
  const fd = typeof file === "number" ? file : openSync(file, "r");
  try {
    const bytes = Buffer.allocUnsafe(count);
    return bytes.subarray(0, readSync(fd, bytes, 0, count, offset));
  } finally {
    if (fd !== file) closeSync(fd);
  }
}

/** Without the part of a character at its end, unless that is all there is. */
export function wholeCharacters(bytes: Buffer): Buffer {
  for (let back = 1; back <= Math.min(4, bytes.length); back++) {
    const byte = bytes[bytes.length - back] as number;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back && back < bytes.length ? bytes.subarray(0, bytes.length - back) : bytes;
  }
  return bytes;
}
