/**
 * A session's journal: lines `{"n":12,"v":…}`, one per change since the snapshot. Lines that wait are written together
 * and share one fsync. It is written at offsets, never in append mode, so that what a failed write left behind is
 * overwritten by the next one.
 */
import { constants } from "node:fs";
import { type FileHandle, open, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { syncDir } from "./disk.ts";

export interface JournalLine {
  /** Counts up over the life of the session. */
  readonly n: number;
  readonly v: unknown;
}

export interface JournalContent {
  lines: JournalLine[];
  /** Bytes of a last line that was never finished, dropped. */
  torn: number;
}

export interface JournalFile {
  /** Reads it all; has to come first where there is a file already. Throws where a finished line is not one of ours, or out of order. */
  load(): Promise<JournalContent>;
  /** On disk when this resolves; after a rejection none of `lines` is. `json` is the value as text. */
  append(lines: readonly { n: number; json: string }[]): Promise<void>;
  /** Empties it: the snapshot holds all. */
  cut(): Promise<void>;
  close(): Promise<void>;
}

export function journalFile(path: string): JournalFile {
  let file: FileHandle | undefined;
  /** Where the next line goes. */
  let end = 0;
  /** Whether bytes may stand behind `end`. */
  let dirty = false;

  const opened = async (): Promise<FileHandle> => {
    if (file) return file;
    const handle = await open(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    file = handle;
    await syncDir(dirname(path));
    return handle;
  };

  const close = async () => {
    const handle = file;
    file = undefined;
    await handle?.close();
  };

  return {
    async load() {
      const bytes = await readIfThere(path);
      end = bytes.lastIndexOf(0x0a) + 1;
      dirty = end < bytes.length;
      return { lines: parse(bytes.toString("utf8", 0, end)), torn: bytes.length - end };
    },
    async append(lines) {
      const bytes = Buffer.from(lines.map(({ n, json }) => `{"n":${n},"v":${json}}\n`).join(""));
      const handle = await opened();
      if (dirty) await handle.truncate(end);
      dirty = true;
      try {
        await writeAll(handle, bytes, end);
        await handle.datasync();
      } catch (error) {
        // give the space back now; where that fails too, the next append does it
        dirty = !(await handle.truncate(end).then(
          () => true,
          () => false,
        ));
        throw error;
      }
      end += bytes.length;
      dirty = false;
    },
    async cut() {
      if (end === 0 && !dirty) return close();
      const handle = await opened();
      await handle.truncate(0);
      end = 0;
      dirty = false;
      // an idle session keeps no descriptor
      await close();
    },
    close,
  };
}

async function writeAll(file: FileHandle, bytes: Buffer, at: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, at + done);
    done += bytesWritten;
  }
}

async function readIfThere(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return Buffer.alloc(0);
    throw error;
  }
}

function parse(text: string): JournalLine[] {
  const lines: JournalLine[] = [];
  for (const piece of text.split("\n").slice(0, -1)) {
    const line = JSON.parse(piece) as Partial<JournalLine> | null;
    if (typeof line?.n !== "number" || line.n <= (lines.at(-1)?.n ?? 0))
      throw new Error(`line ${lines.length + 1} is out of order`);
    lines.push({ n: line.n, v: line.v });
  }
  return lines;
}
