/**
 * One session on disk: snapshot and journal. Lines are numbered when they are written, and a snapshot says which number
 * it reaches: a crash between the two files never applies a line twice.
 */
import { closeSync, constants, existsSync, openSync, readFileSync, statSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { diskError, firstLine, replaceFile, syncDir } from "./disk.ts";
import { type JournalFile, journalFile } from "./journal.ts";
import { type KeptLists, keyOf, outline, readItems, readSnapshot, writeSnapshot } from "./layout.ts";
import { decode, decodeHead, type Snapshot } from "./snapshot.ts";

/** Sessions of up to so many bytes are written whole each time they come to rest; of longer ones the journal grows first. */
const SMALL = 256 * 1024;
/** Bytes of a journal from which on it is time for a snapshot whatever that costs, also in the middle of work: a restore reads a journal in one go. */
const LARGE = 16 * 1024 * 1024;

export interface Loaded {
  /** Growing lists in them have only their last items, which may change yet. */
  sections: Record<string, unknown>;
  /** Values of the journal's lines behind the snapshot. */
  lines: unknown[];
  /** Bytes of an unfinished last line. */
  torn: number;
}

export interface SessionStore {
  /** Reads snapshot and journal. Throws where one is damaged. */
  load(): Loaded;
  /** Written when this returns, on disk when it resolves. Rejects with a NineError. */
  journal(value: unknown): Promise<void>;
  /** As `journal`, for the header: what a listing shows. */
  head(value: unknown): Promise<void>;
  /** The snapshot does not hold all. */
  readonly behind: boolean;
  /** The snapshot is in one piece, so that growing lists can not be had from it. */
  readonly onePiece: boolean;
  /** It is time for a snapshot: its cost is small, or in proportion to what the journal has grown by, or the journal lacks something. */
  readonly due: boolean;
  /** The journal has become so long that the snapshot can not wait for rest. */
  readonly overdue: boolean;
  /** Writes what `make` gives; `seq` has to stand in it. Calls that wait share one write. Gives the path. */
  save(make: (seq: number) => Snapshot): Promise<string>;
  /** Items at the beginning of a growing list that the snapshot on disk has; `epoch` is the list's. */
  kept(section: string, id: string, epoch: number): number;
  /** Those items, in pieces. Throws where they are damaged. */
  items(section: string, id: string): AsyncIterable<readonly unknown[]>;
  readonly path: string;
  /** A file of the session, made 0600 where it is missing. */
  file(suffix: string): string;
  /** Deletes all its files. */
  remove(): Promise<void>;
  /** Resolves when all that was asked for is done; no descriptor is held then. */
  rest(): Promise<void>;
}

interface Open {
  readonly log: JournalFile;
  seq: number;
  /** Bytes of the snapshot on disk. */
  size: number;
  /** Offset in the journal of what the snapshot does not hold. */
  held: number;
}

export function sessionStore(dir: string, id: string): SessionStore {
  const path = join(dir, `${id}.json`);
  let open: Open | undefined;
  /** The journal has not taken all, or has no snapshot to stand behind. */
  let lacking = !existsSync(path);
  let saving: Promise<string> | undefined;
  let writing = false;
  let lists: KeptLists = new Map();
  let onePiece = false;
  let removed = false;
  let queue: Promise<unknown> = Promise.resolve();

  const enqueue = <T>(work: () => Promise<T>): Promise<T> => {
    const result = queue.then(work);
    queue = result.catch(() => {});
    return result;
  };

  /** What has to be known before the first line is written. */
  const opened = (): Open => {
    if (open) return open;
    const log = journalFile(join(dir, `${id}.journal.jsonl`));
    const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    const base = size === 0 ? 0 : (decodeHead(firstLine(path)) ?? decode(readFileSync(path, "utf8"))).seq;
    const last = log.end > 0 ? log.load().last : 0;
    open = { log, seq: Math.max(base, last), size, held: 0 };
    return open;
  };

  const write = async (kind: "v" | "head", value: unknown): Promise<void> => {
    if (removed) return;
    try {
      const to = opened();
      to.log.append(to.seq + 1, kind, JSON.stringify(value) ?? "null");
      to.seq++;
      await to.log.sync();
    } catch (error) {
      lacking = true;
      throw diskError("journal not written", path, error);
    }
  };

  const behind = (): boolean => lacking || (open !== undefined && open.log.end > open.held);

  return {
    path,
    load() {
      const { snapshot, kept, size } = readSnapshot(path);
      const { sections, seq } = snapshot;
      const to = opened();
      const { lines, torn, last } = to.log.load();
      Object.assign(to, { seq: Math.max(seq, last), size, held: 0 });
      lists = kept;
      onePiece = kept.size === 0;
      return { sections, lines: lines.filter(({ n }) => n > seq).map(({ v }) => v), torn };
    },
    journal: (value) => write("v", value),
    head: (value) => write("head", value),
    get behind() {
      return behind();
    },
    get onePiece() {
      return onePiece;
    },
    get due() {
      if (lacking || !behind()) return lacking;
      const { log, held, size } = opened();
      const grown = log.end - held;
      return grown + size <= SMALL || grown > Math.min(size / 2, LARGE);
    },
    get overdue() {
      return open !== undefined && !saving && !writing && open.log.end - open.held > LARGE;
    },
    kept(section, id, epoch) {
      const list = lists.get(keyOf(section, id));
      return list?.epoch === epoch ? list.items : 0;
    },
    async *items(section, id) {
      const list = lists.get(keyOf(section, id));
      if (list) yield* readItems(path, list);
    },
    save(make) {
      saving ??= enqueue(async () => {
        saving = undefined;
        if (removed) return path;
        writing = true;
        try {
          const to = opened();
          // In one tick: the outline holds what the lines up to here say.
          const { seq } = to;
          const held = to.log.end;
          // what somebody else has changed is not copied
          const there = statSync(path, { throwIfNoEntry: false })?.size === to.size;
          const pieces = outline(make(seq), there ? lists : new Map());
          lacking = false;
          // What is said of the file changes with it: a reader goes to the items by that.
          const replaced = ({ size, kept }: { size: number; kept: KeptLists }) => {
            lists = kept;
            onePiece = false;
            to.size = size;
          };
          await replaceFile(path, (file) => writeSnapshot(file, pieces, path), replaced);
          to.held = held;
        } catch (error) {
          lacking = true;
          throw diskError("not saved", path, error);
        } finally {
          writing = false;
        }
        // a failure here costs only space
        await cut().catch(() => {});
        return path;
      });
      return saving;
    },
    file(suffix) {
      const own = join(dir, `${id}.${suffix}`);
      closeSync(openSync(own, constants.O_WRONLY | constants.O_CREAT, 0o600));
      return own;
    },
    remove: () =>
      enqueue(async () => {
        removed = true;
        await open?.log.rest();
        const own = (await readdir(dir)).filter((name) => name.startsWith(`${id}.`) && !name.includes(".damaged-"));
        for (const name of own) await rm(join(dir, name), { force: true });
        await syncDir(dir);
      }),
    rest: () => enqueue(async () => open?.log.rest()),
  };

  async function cut(): Promise<void> {
    const to = opened();
    await to.log.cut(to.held);
    to.held = 0;
    await to.log.rest();
  }
}
