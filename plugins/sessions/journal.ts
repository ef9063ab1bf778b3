/**
 * A session's journal: lines `{"n":12,"crc":…,"v":…}`, one per change since the snapshot, and `{"head":{…},"n":13,"crc":…}`
 * where the session's header changed. A line whose sum is wrong is damage. A line is written in the tick that asks for it: it outlives this process however that ends,
 * and nothing that is done next can overtake it. A power cut it outlives when `sync` resolves; who waits shares one fsync.
 * It is written at offsets, never in append mode, so that what a failed write left behind is overwritten by the next one.
 */
import {
  closeSync,
  constants,
  fdatasync,
  fdatasyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { setImmediate as soon } from "node:timers/promises";
import { promisify } from "node:util";
import { crc32 } from "node:zlib";
import { bytesOf, syncDir } from "./disk.ts";

const datasync = promisify(fdatasync);

export interface JournalLine {
  /** Counts up over the life of the session. */
  readonly n: number;
  readonly v: unknown;
}

export interface JournalContent {
  lines: JournalLine[];
  /** Number of the last line, those of headers counted; 0 where there is none. */
  last: number;
  /** Bytes of a last line that was never finished, dropped. */
  torn: number;
}

export interface JournalFile {
  /** Reads it all. Throws where a finished line is not one of ours, or out of order. */
  load(): JournalContent;
  /** Where the next line goes: bytes of all lines. */
  readonly end: number;
  /** Writes a value, given as JSON. Throws what the disk says; then nothing of it is there. */
  append(n: number, kind: "v" | "head", json: string): void;
  /** All that was appended is on disk when this resolves. */
  sync(): Promise<void>;
  /** Drops what is before the offset `at`. */
  cut(at: number): Promise<void>;
  /** Gives the descriptor back until the next append. */
  rest(): Promise<void>;
}

/** Where there is a file already, `load` has to come first. */
export function journalFile(path: string): JournalFile {
  let file: number | undefined;
  let end = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  /** Whether bytes may stand behind `end`. */
  let dirty = false;
  let made = end > 0;
  /** The fsync under way, and the one that begins after it. */
  let present: Promise<void> | undefined;
  let next: Promise<void> | undefined;

  const opened = (): number => {
    file ??= openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    return file;
  };
  const sync = async () => {
    const handle = opened();
    if (!made) await syncDir(dirname(path));
    made = true;
    await datasync(handle);
  };
  const settled = async () => {
    while (present ?? next) await (next ?? present)?.catch(() => {});
  };
  const close = () => {
    if (file !== undefined) closeSync(file);
    file = undefined;
  };

  return {
    get end() {
      return end;
    },
    load() {
      const bytes = readIfThere(path);
      end = bytes.lastIndexOf(0x0a) + 1;
      dirty = end < bytes.length;
      return { ...parse(bytes.toString("utf8", 0, end)), torn: bytes.length - end };
    },
    append(n, kind, json) {
      const bytes = lineOf(n, kind, json);
      const handle = opened();
      if (dirty) ftruncateSync(handle, end);
      dirty = true;
      try {
        writeAll(handle, bytes, end);
      } catch (error) {
        // give the space back now; where that fails too, the next append does it
        dirty = !truncated(handle, end);
        throw error;
      }
      end += bytes.length;
      dirty = false;
    },
    sync() {
      next ??= (async () => {
        await present?.catch(() => {});
        // What else is written in this turn of the event loop shares it.
        await soon();
        present = next;
        next = undefined;
        try {
          await sync();
        } finally {
          present = undefined;
        }
      })();
      return next;
    },
    async cut(at) {
      // a descriptor is not closed under an fsync
      await settled();
      if (at === 0 && !dirty) return;
      const handle = opened();
      if (at >= end) {
        ftruncateSync(handle, 0);
        end = 0;
      } else {
        end = replaceBy(path, bytesOf(handle, at, end, "the journal"));
        close();
      }
      dirty = false;
    },
    async rest() {
      await settled();
      close();
    },
  };
}

function writeAll(file: number, bytes: Buffer, at: number): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done, bytes.length - done, at + done);
}

function truncated(file: number, at: number): boolean {
  try {
    ftruncateSync(file, at);
    return true;
  } catch {
    return false;
  }
}

/** In one tick: no line can come in between. */
function replaceBy(path: string, bytes: Buffer): number {
  const draft = `${path}.tmp`;
  const file = openSync(draft, constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC, 0o600);
  try {
    writeAll(file, bytes, 0);
    fdatasyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(draft, path);
  return bytes.length;
}

function readIfThere(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return Buffer.alloc(0);
    throw error;
  }
}

const sumOf = (n: number, json: string | Uint8Array): number => crc32(json, crc32(`${n} `));

/** More than a line holds in front of its value, and more than behind it. */
const room = 64;

/** Values may be long: they are encoded once, at their place in the line. */
function lineOf(n: number, kind: "v" | "head", json: string): Buffer {
  const end = room + Buffer.byteLength(json);
  const bytes = Buffer.allocUnsafe(end + room);
  bytes.write(json, room);
  const sum = sumOf(n, bytes.subarray(room, end));
  const [before, behind] =
    kind === "v" ? [`{"n":${n},"crc":${sum},"v":`, "}\n"] : ['{"head":', `,"n":${n},"crc":${sum}}\n`];
  bytes.write(before, room - before.length);
  bytes.write(behind, end);
  return bytes.subarray(room - before.length, end + behind.length);
}

const valueLine = /^\{"n":(\d+),"crc":(\d+),"v":(.*)\}$/s;
const headLine = /^\{"head":(.*),"n":(\d+),"crc":(\d+)\}$/s;

function parse(text: string): Omit<JournalContent, "torn"> {
  const lines: JournalLine[] = [];
  let last = 0;
  for (const [at, piece] of text.split("\n").slice(0, -1).entries()) {
    const [, number, sum, json = ""] = valueLine.exec(piece) ?? [];
    const [, head = "", headNumber, headSum] = number === undefined ? (headLine.exec(piece) ?? []) : [];
    const n = Number(number ?? headNumber);
    if (sumOf(n, json || head) !== Number(sum ?? headSum))
      throw new Error(`line ${at + 1} of its journal is not as it was`);
    if (n <= last) throw new Error(`line ${at + 1} of its journal is out of order`);
    last = n;
    if (json !== "") lines.push({ n, v: JSON.parse(json) });
  }
  return { lines, last };
}

const marker = Buffer.from('{"head":');

/** The last header that a journal holds; undefined where it holds none. Looks at bytes: a listing parses no history. */
export function lastHead(path: string): Record<string, unknown> | undefined {
  const bytes = readIfThere(path);
  const finished = bytes.subarray(0, bytes.lastIndexOf(0x0a) + 1);
  for (let at = finished.lastIndexOf(marker); at >= 0; at = at === 0 ? -1 : finished.lastIndexOf(marker, at - 1)) {
    // in a text a quote is escaped, but the text of a line may be JSON itself: only a line's start counts
    if (at > 0 && finished[at - 1] !== 0x0a) continue;
    const [, head = "", n, sum] = headLine.exec(finished.toString("utf8", at, finished.indexOf(0x0a, at))) ?? [];
    // a damaged one is found out when the session is restored
    return sumOf(Number(n), head) === Number(sum) ? JSON.parse(head) : undefined;
  }
  return undefined;
}
