/** The sessions: which there are, what they are called, how they begin, are saved and end. */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf, NineError, OllieError } from "#core";
import { checkVariable } from "./env.ts";
import { type Damaged, type Folder, isDamage, type Scan } from "./folder.ts";
import { checkName } from "./names.ts";
import type { Head } from "./snapshot.ts";
import type { Loaded, SessionStore } from "./store.ts";
import type { AgentRow, Session, SessionPart, Sessions } from "./types.ts";

type Verb = Parameters<SessionPart["verb"]>[1];

/** Sessions at a time, and those of them that the agents below one session of a person's have made. */
export const SESSIONS = 256;
export const MADE = 32;
/** Milliseconds that the daemon's end waits for what runs, and those after which only what is nowhere else is written. */
const REST = 3_500;
const FOLD = 4_000;

export interface Registry extends Sessions {
  readonly parts: readonly SessionPart[];
  /** Takes over what the folder holds. */
  adopt(scan: Scan): void;
  /** Without restoring anything: of a session that nobody has used yet they are the saved ones. */
  rows(session: Session): readonly AgentRow[];
  /** Restores the session first, but for `invalidate`: what is not there has nothing stale. */
  verb(session: Session, verb: Verb): Promise<void>;
  /** Saved sessions that could not be read. */
  readonly damaged: readonly Damaged[];
  close(): Promise<void>;
}

export interface Surroundings {
  folder: Folder;
  /** A line for /eventwait. */
  publish(topic: string, line: string): void;
  /** A failure that a person should know of. */
  report(session: Session, text: string): void;
  /** Whether a file of the tree has the name. */
  taken(name: string): boolean;
  /** The session is gone: its readers end. */
  end(session: Session): void;
}

interface Entry {
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

interface Values extends Pick<Session, "id" | "name" | "created"> {
  env: Record<string, string>;
  creator: Session["creator"];
}

const newSession = ({ id, name, env, created, creator }: Values): Session => ({
  id,
  name,
  created,
  env: new Map(Object.entries(env)),
  ...(creator && { creator }),
  dead: false,
});

export function registry({ folder, publish, report, taken, end }: Surroundings): Registry {
  const entries = new Map<string, Entry>();
  const parts: SessionPart[] = [];
  const writing = new Set<Promise<unknown>>();
  const damaged: Damaged[] = [];

  const entryOf = (session: Session): Entry => {
    const entry = entries.get(session.id);
    if (!entry) throw new NineError(`session ${session.name} is gone`);
    return entry;
  };
  const list = () => [...entries.values()].map(({ session }) => session);
  const byName = (name: string) => list().find((session) => session.name === name);
  const topic = (session: Session, what: string) => `session.${session.id}.${what}`;

  const checkFree = (name: string, what: string, self?: Session): string => {
    checkName(name, what);
    if (taken(name)) throw new NineError(`${what}: name ${JSON.stringify(name)} is a file of the tree`);
    const other = byName(name);
    if (other && other !== self) throw new NineError(`${what}: name ${JSON.stringify(name)} is already in use`);
    return name;
  };

  /** The session that a person made, from which this one comes. */
  const rootOf = (creator: Session["creator"]): string | undefined => {
    const above = entries.get(creator?.session ?? "")?.session;
    return above?.creator ? rootOf(above.creator) : above?.id;
  };
  const checkRoom = (creator: Session["creator"]): void => {
    if (entries.size >= SESSIONS) throw new NineError(`session/new: there are ${SESSIONS} sessions already (limit)`);
    const root = rootOf(creator);
    if (root === undefined) return;
    if (list().filter(({ creator }) => rootOf(creator) === root).length >= MADE)
      throw new NineError(`session/new: agents of this session have made ${MADE} sessions already (limit)`);
  };

  const add = (session: Session, saved: Partial<Entry> = {}): Entry => {
    const store = folder.store(session.id);
    const fresh = { has: new Set(parts), unknown: {}, sections: {}, rows: [], head: "", failing: false };
    const entry: Entry = { session, store, ...fresh, ...saved };
    entries.set(session.id, entry);
    return entry;
  };

  const rowsOf = ({ session, has, rows }: Entry): readonly AgentRow[] =>
    has.size > 0 ? [...has].flatMap((part) => part.rows(session)) : rows;

  /** What a listing shows before anything is restored; nothing runs then. */
  const headOf = (entry: Entry): Head => ({
    name: entry.session.name,
    env: Object.fromEntries(entry.session.env),
    rows: rowsOf(entry).map((row) => ({ ...row, state: "idle" })),
  });

  /** Work on the disk: awaited at the end, its refusal told once until it works again. */
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

  /** Journals the header where it changed. */
  const noteHead = async (entry: Entry): Promise<void> => {
    const head = headOf(entry);
    const text = JSON.stringify(head);
    if (text === entry.head) return;
    entry.head = text;
    await entry.store.head(head);
  };

  /** Brings the disk up to date at a cost that does not grow with the history. */
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

  /** The daemon's end, or the plugin's. What the part holds is on disk already, but for what the disk refused. */
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

  const kill = async (entry: Entry): Promise<void> => {
    const { session } = entry;
    session.dead = true;
    for (const part of [...parts].reverse()) await attempt(session, () => part.kill(session));
    entries.delete(session.id);
    await attempt(session, () => entry.store.remove());
    end(session);
    publish(topic(session, "kill"), `S kill session/${session.name}`);
  };

  return {
    parts,
    damaged,
    list,
    ready,
    get: (key) => byName(key) ?? entries.get(key.toLowerCase())?.session,
    rows: (session) => rowsOf(entryOf(session)),
    adopt(scan) {
      damaged.push(...scan.damaged);
      for (const { id, name, created, env, creator, unknown, rows } of scan.headers) {
        const session = newSession({ id, name: id, env, created, creator });
        const entry = add(session, { has: new Set(), unknown, rows });
        try {
          session.name = checkFree(name || id.slice(0, 8), "session");
        } catch (error) {
          const other = `${id.slice(0, 8)}-${id.slice(9, 13)}`;
          session.name = byName(id.slice(0, 8)) ? other : id.slice(0, 8);
          report(session, `is called ${session.name} now: ${messageOf(error)}`);
        }
        entry.rows = headOf(entry).rows;
        entry.head = JSON.stringify(headOf(entry));
      }
    },
    create({ name, env = {}, creator }) {
      checkRoom(creator);
      for (const [key, value] of Object.entries(env)) checkVariable(key, value, "session/new");
      const id = randomUUID();
      const free = checkFree(name ?? id.slice(0, 8), "session/new");
      const session = newSession({ id, name: free, env, created: Date.now(), creator });
      const entry = add(session);
      publish(topic(session, "new"), `S new session/${free}`);
      told(entry, snapshot(entry)).catch(() => {});
      return session;
    },
    rename(session, name) {
      const entry = entryOf(session);
      const old = session.name;
      if (checkFree(name, "name", session) === old) return;
      session.name = name;
      publish(topic(session, "rename"), `S rename session/${old} session/${name}`);
      told(entry, noteHead(entry)).catch(() => {});
    },
    async kill(session) {
      const entry = entries.get(session.id);
      if (!entry) return;
      entry.ending ??= kill(entry);
      await entry.ending;
    },
    async part(part) {
      if (parts.some(({ name }) => name === part.name))
        throw new OllieError("E_PROVIDED", `sessions: part ${part.name} is already there`);
      parts.push(part);
      return () => leave(part);
    },
    async verb(session, verb) {
      if (verb !== "invalidate") ready(session);
      for (const part of entries.get(session.id)?.has ?? []) await part.verb(session, verb);
    },
    async journal(session, line) {
      const entry = entries.get(session.id);
      // a session that ends keeps nothing
      if (!entry || session.dead) return;
      const written = told(entry, Promise.all([entry.store.journal(line), noteHead(entry)]));
      if (entry.store.overdue) told(entry, snapshot(entry)).catch(() => {});
      await written;
    },
    async save(session) {
      const entry = entryOf(session);
      return await told(entry, save(entry));
    },
    async snapshot(session) {
      ready(session);
      const entry = entryOf(session);
      return entry.store.behind && entry.has.size > 0 ? await told(entry, snapshot(entry)) : entry.store.path;
    },
    kept: (session, section, id, epoch) => entries.get(session.id)?.store.kept(section, id, epoch) ?? 0,
    async *items(session, section, id) {
      const entry = entryOf(session);
      try {
        yield* entry.store.items(section, id);
      } catch (error) {
        if (isDamage(error)) giveUp(entry, { damage: messageOf(error) });
        throw new NineError(`session ${session.name} can not be read: ${messageOf(error)}`);
      }
    },
    file: (session, suffix) => entryOf(session).store.file(suffix),
    async close() {
      await Promise.allSettled(writing);
      await Promise.all([...entries.values()].map(({ store }) => store.rest()));
      folder.close();
    },
  };
}
