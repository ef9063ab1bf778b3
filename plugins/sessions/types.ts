/** What others may import of plugin sessions. */
import { type Principal, Root, token } from "#core";

export interface Session {
  /** UUIDv4, immutable. */
  readonly id: string;
  /** Mutable; unique among sessions. */
  name: string;
  /** The session's own variables, for tools, hooks and `!cmd`. */
  readonly env: Map<string, string>;
  /** Milliseconds since the epoch. */
  readonly created: number;
  /** UUIDs of the agent that made it and of that agent's session; undefined: a person made it. */
  readonly creator?: { readonly session: string; readonly agent: string };
  /** True from `kill` on. */
  dead: boolean;
}

/** `/session/{name}` */
export const PerSession = Root.instances<Session>()("session/{name}", "session");

/** A row of session/idx after the session's name: state, cwd, backend, model, agent name, agent uuid. */
export interface AgentRow {
  state: string;
  cwd: string;
  backend: string;
  model: string;
  name: string;
  id: string;
}

/**
 * A list that only grows, as a value of a record in a part's section (an array of records with an `id`). The saved file has
 * an item a line: a restore leaves the items there, and a snapshot copies those that are there already.
 */
export interface Growing {
  /** Items that are there to stay. */
  readonly length: number;
  /** Under another number it is another list, and nothing that was saved before is part of it. 0: the one that was restored. */
  readonly epoch: number;
  /** Those from number `at` on, which is 0 or what `kept` says. They stay as they are: they are written after this tick. */
  from(at: number): Iterable<unknown>;
  /** More of them, few, which may be other ones in the next snapshot: a restore has these. */
  readonly open: readonly unknown[];
  /** All of them, for a file in one piece. */
  toJSON(): unknown[];
}

/**
 * A plugin that keeps things inside sessions (agents). It lives by these calls; sessions knows nothing of it. One part
 * per key of the saved file.
 */
export interface SessionPart {
  /** Key of its section in the saved file: `agents`. */
  readonly name: string;
  /** Keys of session/new that it takes: a write that has its `trigger` key creates in one step. */
  readonly keys: readonly string[];
  readonly trigger: string;
  /** Makes what `keys` ask for; its text is appended to the reply of session/new. Throws NineError; then the session is undone. */
  create(session: Session, values: ReadonlyMap<string, string>, by: Principal): Promise<string>;
  rows(session: Session): AgentRow[];
  /** `invalidate` comes only where the session was restored. */
  verb(session: Session, verb: "pause" | "resume" | "invalidate"): void | Promise<void>;
  /** Stops what runs; resolves when it is idle. Nothing is saved after it. */
  kill(session: Session): Promise<void>;
  /** Somebody has killed the session: what it made elsewhere goes, too. */
  killed?(session: Session): Promise<void>;
  /** Like kill, for the daemon's end: the state is kept. It is not waited for without a limit. */
  shutdown(session: Session): Promise<void>;
  /** Whole state, JSON-able, for a snapshot; may have growing lists. */
  snapshot(session: Session): unknown;
  /** Lines for the journal that spare a snapshot: what it would say and no line has said yet. */
  mark?(session: Session): unknown[];
  /**
   * Rebuilds from a snapshot (undefined: none) and the journal lines behind it, in order; called by `ready`. Within one
   * tick, because a walk in the tree may wait for it: growing lists come as they are known then, or as plain arrays
   * from a file that is in one piece.
   */
  restore(session: Session, snapshot: unknown, journal: readonly unknown[]): void;
  /** What happened so far, as markdown, for `save` of the session's ctl. */
  transcript?(session: Session): string | Promise<string>;
}

export interface Sessions {
  list(): Session[];
  /** By name or UUID. */
  get(nameOrId: string): Session | undefined;
  create(values: { name?: string; env?: Record<string, string>; creator?: Session["creator"] }): Session;
  rename(session: Session, name: string): void;
  kill(session: Session): Promise<void>;
  /**
   * Adds a part. A saved session is restored to it when `ready` first asks for that. The undo shuts the part down in
   * every session, saves them and takes it away: hand it to `defer`.
   */
  part(part: SessionPart): Promise<() => Promise<void>>;
  /** Restores the session's parts, unless they are: a part calls it before it looks at what it holds of a session. */
  ready(session: Session): void;
  /**
   * Appends one line to the session's journal: written when this returns, so that no kill of the daemon takes it back, on
   * disk (fsync) when it resolves. Order is that of the calls. Change the state first, in the same tick: a snapshot taken
   * after this call counts the line as part of it. Rejects with a NineError when the disk refuses: the work may go on in
   * memory, and the next `save` writes everything.
   */
  journal(session: Session, line: unknown): Promise<void>;
  /**
   * To be called at rest: all is on disk when this resolves. Short sessions get a new snapshot (temp, fsync, rename) each
   * time, long ones when their journal has grown by half of it. Gives the snapshot's path.
   */
  save(session: Session): Promise<string>;
  /** A snapshot now, whatever it costs, unless the one on disk holds all, growing lists an item a line. Gives its path, empty where sessions are in memory only. */
  snapshot(session: Session): Promise<string>;
  /** Items at the beginning of a growing list of the record `id` that the snapshot has; 0 in another epoch, and where sessions are in memory only. */
  kept(session: Session, section: string, id: string, epoch: number): number;
  /** Those items, in pieces, with other work between them. Where they are damaged the session is given up as one that can not be restored, and this throws. */
  items(session: Session, section: string, id: string): AsyncIterable<readonly unknown[]>;
  /** Where a session keeps a file of its own: `{data}/sessions/{uuid}.{suffix}`, created 0600. */
  file(session: Session, suffix: string): string;
}

export const Sessions = token<Sessions>("sessions");

export { isCredential } from "./env.ts";
export { parseKeys } from "./keys.ts";
export { checkName } from "./names.ts";
