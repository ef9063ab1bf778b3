/** A part of sessions, for tests. */
import { NineError } from "#core";
import type { Session, SessionPart, Sessions } from "#plugins/sessions";

/** A part as agents are one: notes by session, journaled one by one. */
export interface Notes extends SessionPart {
  readonly notes: Map<string, string[]>;
  readonly said: string[];
  add(session: Session, text: string): Promise<void>;
}

export function notesPart(service: () => Sessions): Notes {
  const notes = new Map<string, string[]>();
  const said: string[] = [];
  const of = (session: Session): string[] => {
    service().ready(session);
    const list = notes.get(session.id) ?? [];
    notes.set(session.id, list);
    return list;
  };
  return {
    name: "agents",
    keys: ["cwd", "model"],
    trigger: "cwd",
    notes,
    said,
    async add(session, text) {
      of(session).push(text);
      await service().journal(session, { note: text });
    },
    async create(session, values, by) {
      if (values.get("cwd") === "/nowhere") throw new NineError("agent/new: cwd /nowhere is no directory");
      await this.add(session, [...values].map(([k, v]) => `${k}=${v}`).join(","));
      return `made=${values.get("cwd")} by ${by.name}\n`;
    },
    rows: (session) =>
      of(session).map((note, n) => ({ state: "idle", cwd: note, backend: "b", model: "m", name: `n${n}`, id: `${n}` })),
    verb: (session, verb) => void said.push(`${verb} ${session.name}`),
    kill: async (session) => void said.push(`kill ${session.name}`),
    shutdown: async (session) => void said.push(`shutdown ${session.name}`),
    snapshot: (session) => ({ notes: [...of(session)] }),
    restore(session, snapshot, journal) {
      const saved = (snapshot as { notes?: string[] } | undefined)?.notes ?? [];
      notes.set(session.id, [...saved, ...journal.map((line) => (line as { note: string }).note)]);
    },
  };
}
