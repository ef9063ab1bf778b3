/** The sessions: which there are, what they are called, how they begin, are saved and end. */
import { randomUUID } from "node:crypto";
import { messageOf, NineError, OllieError } from "#core";
import { checkVariable } from "./env.ts";
import { type Folder, isDamage } from "./folder.ts";
import { checkName } from "./names.ts";
import { encode, type Header } from "./snapshot.ts";
import type { SessionStore } from "./store.ts";
import type { AgentRow, Session, SessionPart, Sessions } from "./types.ts";

/** Sessions at a time. */
export const SESSIONS = 256;

export interface Registry extends Sessions {
  readonly parts: readonly SessionPart[];
  /** Takes over what the folder holds. */
  adopt(headers: readonly Header[]): void;
  rows(session: Session): AgentRow[];
  /** Saved sessions that could not be read: name (or id) and id. */
  readonly damaged: readonly { name: string; id: string }[];
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
  /** Saved, and not read yet. */
  stored: boolean;
  /** Keys of the saved `session` that are not ours. */
  unknown: Record<string, unknown>;
  /** Sections whose part is not there, kept for the next save. */
  sections: Record<string, unknown>;
  /** What the saved header says of its agents, while no part does. */
  rows: readonly AgentRow[];
  /** Journal lines behind the snapshot, for parts that are still to come. */
  lines: readonly unknown[];
  /** No part has taken the lines in: no snapshot holds them. */
  unread: boolean;
  /** The disk refused the last write, and that was told. */
  failing: boolean;
  ending?: Promise<void>;
}

export function registry({ folder, publish, report, taken, end }: Surroundings): Registry {
  const entries = new Map<string, Entry>();
  const parts: SessionPart[] = [];
  const writing = new Set<Promise<unknown>>();
  const damaged: { name: string; id: string }[] = [];

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

  const add = (session: Session, saved?: Pick<Header, "unknown" | "rows">): Entry => {
    const store = folder.store(session.id);
    const { unknown, rows } = saved ?? { unknown: {}, rows: [] };
    const stored = saved !== undefined;
    const entry: Entry = {
      session,
      store,
      stored,
      unknown,
      rows,
      sections: {},
      lines: [],
      unread: false,
      failing: false,
    };
    entries.set(session.id, entry);
    return entry;
  };

  /** Tells of a refusal of the disk once, until it works again. */
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

  const attempt = async (session: Session, work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      report(session, messageOf(error));
    }
  };

  const text = ({ session, sections, unknown, rows }: Entry, seq: number): string =>
    encode({
      seq,
      id: session.id,
      name: session.name,
      created: session.created,
      env: Object.fromEntries(session.env),
      rows: parts.length > 0 ? parts.flatMap((part) => part.rows(session)) : rows,
      unknown,
      sections: { ...sections, ...Object.fromEntries(parts.map((part) => [part.name, part.snapshot(session)])) },
    });

  const load = async (entry: Entry): Promise<void> => {
    if (!entry.stored) return;
    const { sections, lines, torn } = await entry.store.load();
    Object.assign(entry, { stored: false, sections, lines, unread: lines.length > 0 });
    if (torn > 0) report(entry.session, `the last line of its journal was cut short and is dropped (${torn} bytes)`);
  };

  const save = async (entry: Entry): Promise<string> => {
    await load(entry);
    const path = await entry.store.save((seq) => text(entry, seq), entry.unread ? "keep" : undefined);
    if (!entry.unread) entry.lines = [];
    return path;
  };

  /** A session that can not be restored leaves the list; its files stay, aside where they are to blame. */
  const giveUp = async (entry: Entry, error: unknown): Promise<void> => {
    const { session } = entry;
    session.dead = true;
    for (const part of parts) await attempt(session, () => part.kill(session));
    await entry.store.close();
    entries.delete(session.id);
    damaged.push({ name: session.name, id: session.id });
    if (isDamage(error)) await folder.setAside(session.id, messageOf(error));
    else report(session, `can not be read: ${messageOf(error)}`);
    end(session);
  };

  const restore = async (entry: Entry, part: SessionPart): Promise<void> => {
    try {
      await load(entry);
      const { [part.name]: section, ...others } = entry.sections;
      await part.restore(entry.session, section, entry.lines);
      entry.sections = others;
      entry.unread = false;
    } catch (error) {
      await giveUp(entry, error);
    }
  };

  /** The daemon's end, or the plugin's: what the part holds is kept. */
  const leave = async (part: SessionPart): Promise<void> => {
    const all = [...entries.values()];
    await Promise.all(
      all.map(async (entry) => {
        await attempt(entry.session, () => part.shutdown(entry.session));
        entry.rows = parts.flatMap((one) => one.rows(entry.session));
        entry.sections[part.name] = part.snapshot(entry.session);
      }),
    );
    parts.splice(parts.indexOf(part), 1);
    // a few at a time: each holds a descriptor
    for (let at = 0; at < all.length; at += 8)
      await Promise.allSettled(all.slice(at, at + 8).map((entry) => told(entry, save(entry))));
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
    get: (key) => byName(key) ?? entries.get(key.toLowerCase())?.session,
    rows: (session) => parts.flatMap((part) => part.rows(session)),
    adopt(headers) {
      for (const { id, name, created, env, unknown, rows } of headers) {
        const session: Session = { id, name: id, env: new Map(Object.entries(env)), created, dead: false };
        add(session, { unknown, rows });
        try {
          session.name = checkFree(name || id.slice(0, 8), "session");
        } catch (error) {
          const other = `${id.slice(0, 8)}-${id.slice(9, 13)}`;
          session.name = byName(id.slice(0, 8)) ? other : id.slice(0, 8);
          report(session, `is called ${session.name} now: ${messageOf(error)}`);
        }
      }
    },
    create({ name, env = {} }) {
      if (entries.size >= SESSIONS) throw new NineError(`session/new: there are ${SESSIONS} sessions already (limit)`);
      for (const [key, value] of Object.entries(env)) checkVariable(key, value, "session/new");
      const id = randomUUID();
      const free = checkFree(name ?? id.slice(0, 8), "session/new");
      const session: Session = { id, name: free, env: new Map(Object.entries(env)), created: Date.now(), dead: false };
      const entry = add(session);
      publish(topic(session, "new"), `S new session/${free}`);
      told(entry, save(entry)).catch(() => {});
      return session;
    },
    rename(session, name) {
      const entry = entryOf(session);
      const old = session.name;
      if (checkFree(name, "name", session) === old) return;
      session.name = name;
      publish(topic(session, "rename"), `S rename session/${old} session/${name}`);
      told(entry, save(entry)).catch(() => {});
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
      for (const entry of [...entries.values()]) await restore(entry, part);
      return () => leave(part);
    },
    async journal(session, line) {
      const entry = entries.get(session.id);
      // a session that ends keeps nothing
      if (!entry || session.dead) return;
      await told(entry, entry.store.journal(line));
    },
    async save(session) {
      const entry = entryOf(session);
      return await told(entry, save(entry));
    },
    file: (session, suffix) => entryOf(session).store.file(suffix),
    async close() {
      await Promise.allSettled(writing);
      await Promise.all([...entries.values()].map(({ store }) => store.close()));
      await folder.close();
    },
  };
}
