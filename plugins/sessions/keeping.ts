/**
 * How sessions are kept: restored when they are first needed, saved at rest, given up where their files can not be read.
 * What they hold is their parts' (agents).
 */
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf, NineError } from "#core";
import { type Damaged, type Folder, isDamage } from "./folder.ts";
import type { Head } from "./snapshot.ts";
import type { Loaded, SessionStore } from "./store.ts";
import type { AgentRow, Session, SessionPart } from "./types.ts";

/** Milliseconds that the daemon's end waits for what runs, and those after which only what is nowhere else is written. */
const REST = 3_500;
const FOLD = 4_000;

export interface Entry {
  readonly session: Session;
  readonly store: SessionStore;
  /** Parts that hold what the session has of theirs. */
  readonly has: Set<SessionPart>;
  /** Keys of the saved `session` that are not ours. */
  readonly unknown: Record<string, unknown>;
  /** Sections of the saved file that no part has taken, kept for the next snapshot. */
  sections: Record<string, unknown>;
  /** Rows while no part gives them. */
  rows: readonly AgentRow[];
  /** The header on disk, as text. */
  head: string;
  /** The disk refused the last write, and that was told. */
  failing: boolean;
  ending?: Promise<void>;
}

export interface Keeping {
  /** Work on the disk: awaited at the end, its refusal told once until it works again. */
  told<T>(entry: Entry, work: Promise<T>): Promise<T>;
  /** Work of a part's, its failure told. */
  attempt(session: Session, work: () => void | Promise<void>): Promise<void>;
  rowsOf(entry: Entry): readonly AgentRow[];
  /** What a listing shows before anything is restored; nothing runs then. */
  headOf(entry: Entry): Head;
  snapshot(entry: Entry): Promise<string>;
  /** Journals the header where it changed. */
  noteHead(entry: Entry): Promise<void>;
  /** Brings the disk up to date at a cost that does not grow with the history. */
  save(entry: Entry): Promise<string>;
  /** As Sessions. */
  ready(session: Session): void;
  items(entry: Entry, section: string, id: string): AsyncIterable<readonly unknown[]>;
  /** The daemon's end, or the plugin's. What the part holds is on disk already, but for what the disk refused. */
  leave(part: SessionPart): Promise<void>;
  /** Resolves when nothing is being written and no file is held open. */
  rest(): Promise<void>;
}

/** The three collections are those of sessions.ts. */
export function keeping(of: {
  folder: Folder;
  report(session: Session, text: string): void;
  end(session: Session): void;
  entries: Map<string, Entry>;
  parts: SessionPart[];
  damaged: Damaged[];
}): Keeping {
  const { folder, report, end, entries, parts, damaged } = of;
  const writing = new Set<Promise<unknown>>();

  const rowsOf = ({ session, has, rows }: Entry): readonly AgentRow[] =>
    has.size > 0 ? [...has].flatMap((part) => part.rows(session)) : rows;

  const headOf = (entry: Entry): Head => ({
    name: entry.session.name,
    env: Object.fromEntries(entry.session.env),
    rows: rowsOf(entry).map((row) => ({ ...row, state: "idle" })),
  });

  const told = async <T>(entry: Entry, work: Promise<T>): Promise<T> => {
    writing.add(work);
    try {
      const result = await work;
      entry.failing = false;
      return result;
    } catch (error) {
      if (!entry.failing) report(entry.session, messageOf(error));
      entry.failing = true;
      throw error;
    } finally {
      writing.delete(work);
    }
  };

  const attempt = async (session: Session, work: () => void | Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      report(session, messageOf(error));
    }
  };

  const snapshot = (entry: Entry): Promise<string> =>
    entry.store.save((seq) => {
      const { session, has, unknown, sections } = entry;
      const head = headOf(entry);
      entry.head = JSON.stringify(head);
      const own = [...has].map((part) => [part.name, part.snapshot(session)]);
      const { id, created, creator } = session;
      return {
        ...head,
        seq,
        id,
        created,
        ...(creator && { creator }),
        unknown,
        sections: { ...sections, ...Object.fromEntries(own) },
      };
    });

  const noteHead = async (entry: Entry): Promise<void> => {
    const head = headOf(entry);
    const text = JSON.stringify(head);
    if (text === entry.head) return;
    entry.head = text;
    await entry.store.head(head);
  };

  const save = async (entry: Entry): Promise<string> => {
    const { session, has, store } = entry;
    if (has.size > 0 && store.due) return snapshot(entry);
    const marks = [...has].flatMap((part) => part.mark?.(session) ?? []);
    await Promise.all([...marks.map(store.journal), noteHead(entry)]);
    await store.rest();
    return store.path;
  };

  /** A session that can not be restored leaves the list; its files stay, aside where they are to blame. */
  const giveUp = (entry: Entry, why: string | { damage: string }): void => {
    const { session } = entry;
    if (session.dead) return;
    session.dead = true;
    entries.delete(session.id);
    damaged.push({ name: session.name, id: session.id });
    const rest = async () => {
      for (const part of entry.has) await attempt(session, () => part.kill(session));
      await entry.store.rest();
      if (typeof why === "object") await folder.setAside(session.id, why.damage);
      else report(session, `can not be restored: ${why}`);
      end(session);
    };
    told(entry, rest()).catch(() => {});
  };

  const ready = (session: Session): void => {
    const entry = entries.get(session.id);
    const missing = parts.filter((part) => !entry?.has.has(part));
    if (!entry || session.dead || missing.length === 0) return;
    let loaded: Loaded;
    try {
      loaded = entry.store.load();
    } catch (error) {
      return giveUp(entry, isDamage(error) ? { damage: messageOf(error) } : messageOf(error));
    }
    const { sections, lines, torn } = loaded;
    if (torn > 0) report(session, `the last line of its journal was cut short and is dropped (${torn} bytes)`);
    try {
      for (const part of missing) {
        // first of all, because the part asks for `ready` itself
        entry.has.add(part);
        part.restore(session, sections[part.name], lines);
        delete sections[part.name];
      }
      entry.sections = sections;
    } catch (error) {
      // a fault of the part's: the file may be well
      giveUp(entry, messageOf(error));
    }
  };

  const leave = async (part: SessionPart): Promise<void> => {
    const began = performance.now();
    const all = [...entries.values()].filter(({ has }) => has.has(part));
    const waiting = new AbortController();
    const limit = sleep(REST, undefined, { signal: waiting.signal }).catch(() => {});
    await Promise.race([limit, Promise.all(all.map(({ session }) => attempt(session, () => part.shutdown(session))))]);
    waiting.abort();
    const behind = all.filter(({ store }) => store.behind).sort((a, b) => Number(b.store.due) - Number(a.store.due));
    // a few at a time: each holds a descriptor
    for (let at = 0; at < behind.length; at += 8) {
      const late = performance.now() - began > FOLD;
      const some = behind.slice(at, at + 8).filter(({ store }) => store.due || !late);
      await Promise.allSettled(some.map((entry) => told(entry, snapshot(entry))));
    }
    parts.splice(parts.indexOf(part), 1);
    for (const entry of all) {
      entry.rows = headOf(entry).rows;
      entry.has.delete(part);
    }
  };

  return {
    told,
    attempt,
    rowsOf,
    headOf,
    snapshot,
    noteHead,
    save,
    ready,
    async *items(entry, section, id) {
      try {
        yield* entry.store.items(section, id);
      } catch (error) {
        if (isDamage(error)) giveUp(entry, { damage: messageOf(error) });
        throw new NineError(`session ${entry.session.name} can not be read: ${messageOf(error)}`);
      }
    },
    leave,
    async rest() {
      await Promise.allSettled(writing);
      await Promise.all([...entries.values()].map(({ store }) => store.rest()));
    },
  };
}
