/**
 * The saved form of a session: one JSON object whose first line is a small header, so that a listing reads no history.
 *   {"version":1,"seq":12,"session":{…},"rows":[…],
 *   "agents":…
 *   }
 * Keys that this version does not know are kept and written back. How long lists lie in it: layout.ts.
 */
import type { AgentRow, Session } from "./types.ts";

export const VERSION = 1;

/** No damage: the file is left where it is. */
export class NewerVersion extends Error {}

export interface Header {
  /** Number of the last journal line that the snapshot holds. */
  seq: number;
  id: string;
  name: string;
  created: number;
  env: Record<string, string>;
  creator?: Session["creator"];
  /** For listings before the parts are restored. */
  rows: readonly AgentRow[];
  /** Keys of `session` that are not ours. */
  unknown: Record<string, unknown>;
}

export interface Snapshot extends Header {
  /** By part name, and whatever else stands at the top level. */
  sections: Record<string, unknown>;
}

/** A whole file in one piece. */
export function encode(snapshot: Snapshot): string {
  const body = Object.entries(snapshot.sections).filter(([, value]) => value !== undefined);
  const lines = body.map(([key, value]) => `,\n${JSON.stringify(key)}:${JSON.stringify(value)}`);
  return `${headOf(snapshot)}${lines.join("")}${END}`;
}

/** The first line, without what ends it. */
export function headOf({ seq, id, name, created, env, creator, rows, unknown }: Header): string {
  const session = { ...unknown, id, name, created, env, ...(creator && { creator }) };
  return JSON.stringify({ version: VERSION, seq, session, rows }).slice(0, -1);
}

/** What every file of this form ends with: one that was cut short does not. */
export const END = "\n}\n";

/** The part of a header that may change: it goes to the journal, too. */
export type Head = Pick<Header, "name" | "env" | "rows">;

/** `known`, with what a journal's line says of it. */
export const withHead = (known: Header, head: Record<string, unknown>): Header => ({
  ...known,
  name: typeof head.name === "string" ? head.name : known.name,
  env: strings(head.env),
  rows: rowsOf(head.rows),
});

/** The header that stands in a file's first line; undefined where that line is none. Throws for another version. */
export function decodeHead(line: string): Header | undefined {
  let value: unknown;
  try {
    value = JSON.parse(`${line.replace(/,?\s*$/, "")}}`);
  } catch {
    return undefined;
  }
  return isRecord(value) && value.session !== undefined ? header(value) : undefined;
}

/** JSON, also behind a byte order mark, which some editors write. */
export const parse = (text: string): unknown => JSON.parse(text.startsWith("\uFEFF") ? text.slice(1) : text);

/** A whole file. Throws with one clause that says what is wrong. */
export function decode(text: string): Snapshot {
  const value = parse(text);
  if (!isRecord(value)) throw new Error("it is no JSON object");
  const { version: _version, seq: _seq, session: _session, rows: _rows, lists: _lists, ...sections } = value;
  return { ...header(value), sections };
}

function header(value: Record<string, unknown>): Header {
  if (typeof value.version === "number" && value.version > VERSION)
    throw new NewerVersion(`it was written by a newer ollie (version ${value.version}, this one reads ${VERSION})`);
  if (!isRecord(value.session) || typeof value.session.id !== "string") throw new Error("it holds no session");
  const { id, name, created, env, creator, ...unknown } = value.session;
  return {
    seq: typeof value.seq === "number" ? value.seq : 0,
    id,
    name: typeof name === "string" ? name : "",
    created: typeof created === "number" ? created : 0,
    env: strings(env),
    ...creatorIn(creator),
    rows: rowsOf(value.rows),
    unknown,
  };
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");

function creatorIn(value: unknown): { creator?: Session["creator"] } {
  const { session, agent } = isRecord(value) ? value : {};
  return typeof session === "string" && typeof agent === "string" ? { creator: { session, agent } } : {};
}

const rowsOf = (value: unknown): AgentRow[] => (Array.isArray(value) ? value.filter(isRecord).map(row) : []);

const row = (value: Record<string, unknown>): AgentRow => ({
  state: text(value.state),
  cwd: text(value.cwd),
  backend: text(value.backend),
  model: text(value.model),
  name: text(value.name),
  id: text(value.id),
});

function strings(value: unknown): Record<string, string> {
  if (!isRecord(value)) return {};
  return Object.fromEntries(
    Object.entries(value).filter((pair): pair is [string, string] => typeof pair[1] === "string"),
  );
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
