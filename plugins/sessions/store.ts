/**
 * One session on disk: snapshot and journal, behind one queue, so that nothing overtakes anything. Lines are numbered
 * when a write or a snapshot takes them, and a snapshot says which number it reaches: a crash between the two files
 * never applies a line twice.
 */
import { closeSync, constants, openSync } from "node:fs";
import { readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { diskError, replaceFile, syncDir } from "./disk.ts";
import { journalFile } from "./journal.ts";
import { decode } from "./snapshot.ts";

export interface Loaded {
  sections: Record<string, unknown>;
  /** Values of the journal's lines behind the snapshot. */
  lines: unknown[];
  /** Bytes of an unfinished last line. */
  torn: number;
}

export interface SessionStore {
  /** Reads snapshot and journal. Throws where one is damaged. For a new session there is nothing to load. */
  load(): Promise<Loaded>;
  /** On disk when this resolves. Rejects with a NineError. */
  journal(value: unknown): Promise<void>;
  /**
   * Writes what `make` gives; `seq` has to stand in it. Calls that wait share one write. Gives the path. With
   * `journal: "keep"` the lines that were loaded stay, behind the new snapshot.
   */
  save(make: (seq: number) => string, journal?: "keep"): Promise<string>;
  /** A file of the session, made 0600 where it is missing. */
  file(suffix: string): string;
  /** Deletes all its files. */
  remove(): Promise<void>;
  /** Resolves when all that was asked for is done. */
  close(): Promise<void>;
}

interface Waiting {
  json: string;
  n?: number;
  done: () => void;
  fail: (error: unknown) => void;
}

export function sessionStore(dir: string, id: string): SessionStore {
  const path = join(dir, `${id}.json`);
  const log = journalFile(join(dir, `${id}.journal.jsonl`));
  let seq = 0;
  /** What the snapshot on disk reaches. */
  let base = 0;
  let waiting: Waiting[] = [];
  let saving: Promise<string> | undefined;
  let removed = false;
  let queue: Promise<unknown> = Promise.resolve();

  const enqueue = <T>(work: () => Promise<T>): Promise<T> => {
    const result = queue.then(work);
    queue = result.catch(() => {});
    return result;
  };

  /** Gives every waiting line its number; the last one is what the state of this moment holds. */
  const number = (): number => {
    for (const line of waiting) line.n ??= ++seq;
    return seq;
  };

  const drain = async () => {
    number();
    const batch = waiting;
    waiting = [];
    if (batch.length === 0) return;
    try {
      if (!removed) await log.append(batch.map(({ n = 0, json }) => ({ n, json })));
      for (const line of batch) line.done();
    } catch (error) {
      const reason = diskError("journal not written", path, error);
      for (const line of batch) line.fail(reason);
    }
  };

  return {
    load: () =>
      enqueue(async () => {
        const snapshot = decode(await readFile(path, "utf8"));
        const { lines, torn } = await log.load();
        base = snapshot.seq;
        seq = Math.max(base, lines.at(-1)?.n ?? 0);
        const behind = lines.filter(({ n }) => n > base).map(({ v }) => v);
        return { sections: snapshot.sections, lines: behind, torn };
      }),
    journal(value) {
      // as it is now: the caller may go on changing it
      const json = JSON.stringify(value) ?? "null";
      return new Promise<void>((done, fail) => {
        if (waiting.push({ json, done, fail }) === 1) void enqueue(drain);
      });
    },
    save(make, journal) {
      saving ??= enqueue(async () => {
        saving = undefined;
        if (removed) return path;
        try {
          const reached = journal === "keep" ? base : number();
          const text = make(reached);
          if (!(await holds(path, text))) await replaceFile(path, text);
          base = reached;
        } catch (error) {
          throw diskError("not saved", path, error);
        }
        // all lines in the journal have numbers that the snapshot reaches; a failure here costs only space
        if (journal !== "keep") await log.cut().catch(() => {});
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
        await log.close();
        const own = (await readdir(dir)).filter((name) => name.startsWith(`${id}.`) && !name.includes(".damaged-"));
        for (const name of own) await rm(join(dir, name), { force: true });
        await syncDir(dir);
      }),
    close: () => enqueue(log.close),
  };
}

/** Whether the file says that already: a daemon that ends saves all its sessions, and most have not changed. */
async function holds(path: string, text: string): Promise<boolean> {
  try {
    return (await stat(path)).size === Buffer.byteLength(text) && (await readFile(path, "utf8")) === text;
  } catch {
    return false;
  }
}
