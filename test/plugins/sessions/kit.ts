/** A kernel with sessions alone, a part that keeps notes, and folders that go with the test. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { createKernel, definePlugin, type Kernel, type Logger, NineError } from "#core";
import { type Session, type SessionPart, Sessions } from "#plugins/sessions";
import events from "../../../plugins/events/index.ts";
import sessions from "../../../plugins/sessions/index.ts";

export const must = <T>(value: T | undefined): T => {
  if (value === undefined) throw new Error("it is not there");
  return value;
};

export function tempDir(): string {
  const dir = mkdtempSync(join(tmpdir(), "ollie-test-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

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
    async create(session, values, principal) {
      if (values.get("cwd") === "/nowhere") throw new NineError("agent/new: cwd /nowhere is no directory");
      of(session).push([...values].map(([k, v]) => `${k}=${v}`).join(","));
      return `made=${values.get("cwd")} by ${principal}\n`;
    },
    rows: (session) =>
      of(session).map((note, n) => ({ state: "idle", cwd: note, backend: "b", model: "m", name: `n${n}`, id: `${n}` })),
    verb: (session, verb) => void said.push(`${verb} ${session.name}`),
    kill: async (session) => void said.push(`kill ${session.name}`),
    shutdown: async (session) => void said.push(`shutdown ${session.name}`),
    snapshot: (session) => ({ notes: [...of(session)] }),
    async restore(session, snapshot, journal) {
      const saved = (snapshot as { notes?: string[] } | undefined)?.notes ?? [];
      notes.set(session.id, [...saved, ...journal.map((line) => (line as { note: string }).note)]);
    },
  };
}

export interface Rig extends AsyncDisposable {
  kernel: Kernel;
  fs: Kernel["fs"];
  sessions: Sessions;
  part: Notes;
  /** What was logged from warn on. */
  log: string[];
}

/** Starts a kernel whose sessions lie in `dir`; without `dir` in memory. */
export async function start(dir?: string, options: { part?: boolean } = {}): Promise<Rig> {
  const log: string[] = [];
  const put = (text: string) => void log.push(text);
  const logger: Logger = { debug() {}, info() {}, warn: put, error: put, child: () => logger };
  let service: Sessions | undefined;
  const part = notesPart(() => service as Sessions);
  const notes = definePlugin({
    name: "notes",
    doc: "A part of sessions.",
    needs: [Sessions],
    async setup(api) {
      service = api.use(Sessions);
      if (options.part !== false) api.defer(await service.part(part));
    },
  });
  const kernel = createKernel({
    plugins: [events(), sessions(dir === undefined ? { persist: false } : { dir }), notes()],
    log: logger,
  });
  await kernel.start();
  onTestFinished(() => kernel.close());
  const rig = { kernel, fs: kernel.fs, sessions: service as unknown as Sessions, part, log };
  return { ...rig, [Symbol.asyncDispose]: () => kernel.close() };
}
