/**
 * How a snapshot lies in its file: one JSON object in lines, so that long histories are neither read nor written in one piece.
 *   {"version":1,"seq":12,"session":{…},"rows":[…],
 *   "agents":[
 *   {"id":"…",…,"messages":[
 *    {"role":"user",…}
 *   ,{"role":"assistant",…}
 *   ]}
 *   ],
 *   "lists":{"at":5120,"kept":[["agents",0,"messages",180,5100,2]]}
 *   }
 * A growing list (types.ts) has an item a line. The last line says where the items lie that are there to stay: a restore
 * reads around them, and the next snapshot copies them as they are. A file without that line is read as a whole: older
 * ones, and those that somebody has edited.
 */
import { closeSync, constants, createReadStream, fstatSync, openSync, readFileSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { bytesOf } from "./disk.ts";
import { decode, END, headOf, isRecord, type Snapshot } from "./snapshot.ts";
import type { Growing } from "./types.ts";

/** Items of a list as they lie in the file: `start` and `end` are offsets. */
export interface Kept {
  readonly start: number;
  readonly end: number;
  readonly items: number;
  /** Of the list that they are part of. */
  readonly epoch: number;
}

/** By section and id of the record. */
export type KeptLists = ReadonlyMap<string, Kept>;
export const keyOf = (section: string, id: unknown): string => `${section} ${id}`;

/** Section, number of the record in it, its key; then start, end and number of the items. */
type Entry = [section: string, record: number, key: string, start: number, end: number, items: number];

/** Bytes that are read or written at a time: other work goes on between two of them. */
const CHUNK = 256 * 1024;
/** More than the last lines of any file have. */
const TAIL = 64 * 1024;

const isGrowing = (value: unknown): value is Growing => isRecord(value) && typeof value.from === "function";

interface List {
  readonly at: [section: string, record: number, key: string];
  readonly id: unknown;
  readonly epoch: number;
  readonly length: number;
  /** What of it the present file has. */
  readonly old: Kept | undefined;
  readonly more: Iterable<unknown>;
  readonly open: readonly unknown[];
}

/** What a file will be made of. All of it is said in this tick, but for items, which stay as they are. */
export type Outline = readonly (string | List)[];

export function outline(snapshot: Snapshot, kept: KeptLists): Outline {
  const pieces: (string | List)[] = [headOf(snapshot)];
  for (const [section, value] of Object.entries(snapshot.sections)) {
    if (value === undefined) continue;
    const records: readonly unknown[] = Array.isArray(value) ? value : [];
    if (!records.some((record) => isRecord(record) && Object.values(record).some(isGrowing))) {
      pieces.push(`,\n${JSON.stringify(section)}:${JSON.stringify(value)}`);
      continue;
    }
    pieces.push(`,\n${JSON.stringify(section)}:[`);
    for (const [n, record] of records.entries())
      pieces.push(n > 0 ? ",\n" : "\n", ...recordOf(section, n, record, kept));
    pieces.push("\n]");
  }
  return pieces;
}

function recordOf(section: string, n: number, record: unknown, kept: KeptLists): Outline {
  const values = isRecord(record) ? record : {};
  const key = Object.keys(values).find((one) => isGrowing(values[one]));
  if (key === undefined) return [JSON.stringify(record)];
  const { [key]: growing, ...rest } = values;
  const { epoch, length, from, open } = growing as Growing;
  const known = kept.get(keyOf(section, values.id));
  const old = known?.epoch === epoch && known.items <= length ? known : undefined;
  const list = { epoch, length, old, more: from(old?.items ?? 0), open };
  const plain = JSON.stringify(rest).slice(0, -1);
  return [
    `${plain}${plain === "{" ? "" : ","}${JSON.stringify(key)}:[\n`,
    { at: [section, n, key], id: values.id, ...list },
    "]}",
  ];
}

/** Writes all of `pieces`; `from` is the file that has the items which are there already. */
export async function writeSnapshot(
  file: FileHandle,
  pieces: Outline,
  from: string,
): Promise<{ size: number; kept: KeptLists }> {
  const kept = new Map<string, Kept>();
  const entries: Entry[] = [];
  /** Where the next byte goes, and what is on its way there. */
  let at = 0;
  let waiting: Buffer[] = [];
  let length = 0;
  const flush = async () => {
    const bytes = waiting.length === 1 ? (waiting[0] as Buffer) : Buffer.concat(waiting);
    const start = at - length;
    waiting = [];
    length = 0;
    for (let done = 0; done < bytes.length; )
      done += (await file.write(bytes, done, bytes.length - done, start + done)).bytesWritten;
  };
  const put = async (text: string) => {
    const bytes = Buffer.from(text);
    // A long one is not copied once more, to stand behind what waits.
    if (bytes.length >= CHUNK) await flush();
    waiting.push(bytes);
    length += bytes.length;
    at += bytes.length;
    if (length >= CHUNK) await flush();
  };
  const old = pieces.some((piece) => typeof piece !== "string" && piece.old) ? await open(from) : undefined;
  try {
    for (const piece of pieces) {
      if (typeof piece === "string") {
        await put(piece);
        continue;
      }
      const start = at;
      if (old && piece.old) {
        await flush();
        await copy(old, piece.old, file, at);
        at += piece.old.end - piece.old.start;
      }
      let first = !piece.old?.items;
      const item = (value: unknown) => {
        const line = `${first ? " " : ","}${JSON.stringify(value)}\n`;
        first = false;
        return put(line);
      };
      for (const value of piece.more) await item(value);
      entries.push([...piece.at, start, at, piece.length]);
      kept.set(keyOf(piece.at[0], piece.id), { start, end: at, items: piece.length, epoch: piece.epoch });
      for (const value of piece.open) await item(value);
    }
    await put(entries.length > 0 ? `${LISTS}${JSON.stringify({ at, kept: entries })}${END}` : END);
    await flush();
  } finally {
    await old?.close();
  }
  return { size: at, kept };
}

const LISTS = ',\n"lists":';

async function copy(from: FileHandle, { start, end }: Kept, to: FileHandle, at: number): Promise<void> {
  const bytes = Buffer.allocUnsafe(Math.min(CHUNK, end - start));
  for (let done = start; done < end; ) {
    const { bytesRead } = await from.read(bytes, 0, Math.min(bytes.length, end - done), done);
    if (bytesRead === 0) throw new Error("the snapshot is shorter than it was");
    for (let put = 0; put < bytesRead; )
      put += (await to.write(bytes, put, bytesRead - put, at + done - start + put)).bytesWritten;
    done += bytesRead;
  }
}

/** A file, but for the items that are there to stay: of these a growing list says how many they are. Throws where it is damaged. */
export function readSnapshot(path: string): { snapshot: Snapshot; kept: KeptLists; size: number } {
  const around = readAround(path);
  if (around) return around;
  const bytes = readFileSync(path);
  return { snapshot: decode(bytes.toString("utf8")), kept: new Map(), size: bytes.length };
}

/** Undefined: the file says of no items where they lie, or not rightly. */
function readAround(path: string): ReturnType<typeof readSnapshot> | undefined {
  const file = openSync(path, constants.O_RDONLY);
  try {
    const { size } = fstatSync(file);
    const entries = entriesOf(bytesOf(file, Math.max(0, size - TAIL), size), size);
    if (!entries) return undefined;
    const parts: Buffer[] = [];
    let at = 0;
    for (const [, , , start, end] of entries) {
      parts.push(bytesOf(file, at, start));
      if (parts.at(-1)?.toString("latin1").endsWith("[\n") !== true) return undefined;
      // what stands behind is the first item now
      at = bytesOf(file, end, end + 1)[0] === 0x2c ? end + 1 : end;
    }
    parts.push(bytesOf(file, at, size));
    const snapshot = decode(Buffer.concat(parts).toString("utf8"));
    const kept = new Map<string, Kept>();
    for (const [section, n, key, start, end, items] of entries) {
      const record = (snapshot.sections[section] as Record<string, unknown>[])[n] as Record<string, unknown>;
      if (!Array.isArray(record[key])) throw new Error(`${key} is no list`);
      record[key] = left(items, record[key]);
      kept.set(keyOf(section, record.id), { start, end, items, epoch: 0 });
    }
    return { snapshot, kept, size };
  } catch (error) {
    // a fault of the disk's, or of what was edited: the second one shows when all of it is read
    if ((error as NodeJS.ErrnoException).code !== undefined) throw error;
    return undefined;
  } finally {
    closeSync(file);
  }
}

/** What the last line says. Undefined: there is none, or the file is not as it was. */
function entriesOf(tail: Buffer, size: number): Entry[] | undefined {
  const at = tail.lastIndexOf(LISTS);
  if (at < 0 || tail.toString("latin1", tail.length - END.length) !== END) return undefined;
  const lists: unknown = JSON.parse(tail.toString("utf8", at + LISTS.length, tail.length - END.length));
  if (!isRecord(lists) || lists.at !== size - tail.length + at || !Array.isArray(lists.kept)) return undefined;
  const entries = lists.kept as Entry[];
  let last = 0;
  for (const [, , , start, end] of entries) {
    if (!(last <= start && start <= end && end <= lists.at)) return undefined;
    last = end;
  }
  return entries;
}

/** A list whose items are in the file alone. */
function left(items: number, open: readonly unknown[]): Growing {
  const from = (at: number) => {
    if (at !== items) throw new Error("the snapshot does not hold what it held");
    return [];
  };
  return { length: items, epoch: 0, from, open, toJSON: () => [...from(0), ...open] };
}

/** The items in pieces, with other work between two of them. Throws where they are damaged. */
export async function* readItems(path: string, { start, end, items }: Kept): AsyncIterable<readonly unknown[]> {
  if (items === 0) return;
  // opened in this tick: another snapshot may take its place meanwhile
  const fd = openSync(path, constants.O_RDONLY);
  const stream = createReadStream(path, { fd, start, end: end - 1, highWaterMark: CHUNK });
  /** The beginning of a line. */
  let rest: Buffer[] = [];
  let count = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    const last = chunk.lastIndexOf(0x0a);
    if (last < 0) {
      rest.push(chunk);
      continue;
    }
    const whole = Buffer.concat([...rest, chunk.subarray(0, last)]);
    rest = [chunk.subarray(last + 1)];
    const lines = whole.toString("utf8").split("\n");
    count += lines.length;
    yield lines.map((line) => JSON.parse(line.slice(1)));
  }
  if (count !== items) throw new Error(`a list holds ${count} items, not ${items}`);
}
