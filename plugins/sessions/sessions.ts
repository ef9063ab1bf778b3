/** The sessions: which there are, what they are called, how they begin and end. How they are kept: keeping.ts. */
import { randomUUID } from "node:crypto";
import { messageOf, NineError, OllieError } from "#core";
import { checkVariable } from "./env.ts";
import type { Damaged, Folder, Scan } from "./folder.ts";
import { type Entry, keeping } from "./keeping.ts";
import { checkName } from "./names.ts";
import type { AgentRow, Session, SessionPart, Sessions } from "./types.ts";

type Verb = Parameters<SessionPart["verb"]>[1];

/** Sessions at a time, and those of them that the agents below one session of a person's have made. */
export const SESSIONS = 256;
export const MADE = 32;
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
  const damaged: Damaged[] = [];
  const kept = keeping({ folder, report, end, entries, parts, damaged });
  const { told, attempt, rowsOf, headOf, snapshot, noteHead, ready } = kept;

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

  const kill = async (entry: Entry): Promise<void> => {
    const { session } = entry;
    session.dead = true;
    for (const part of [...parts].reverse()) {
      await attempt(session, () => part.kill(session));
      await attempt(session, () => part.killed?.(session));
    }
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
      return () => kept.leave(part);
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
      return await told(entry, kept.save(entry));
    },
    async snapshot(session) {
      ready(session);
      const entry = entryOf(session);
      const { behind, onePiece } = entry.store;
      return (behind || onePiece) && entry.has.size > 0 ? await told(entry, snapshot(entry)) : entry.store.path;
    },
    kept: (session, section, id, epoch) => entries.get(session.id)?.store.kept(section, id, epoch) ?? 0,
    items: (session, section, id) => kept.items(entryOf(session), section, id),
    file: (session, suffix) => entryOf(session).store.file(suffix),
    async close() {
      await kept.rest();
      folder.close();
    },
  };
}
