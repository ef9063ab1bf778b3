/** /v1/models: names and context lengths, within a time limit, asked for once in a while. */
import { BackendError } from "#plugins/backends";
import { type Fetch, getModels } from "./client.ts";
import { connection } from "./connection.ts";
import { networkError, notAStream, statusError } from "./errors.ts";
import type { Settings } from "./settings.ts";

export interface CatalogRow {
  id: string;
  /** Tokens; undefined where the server does not say, or says nonsense. */
  context: number | undefined;
}

/** Milliseconds. */
const limit = 5_000;
const keep = { good: 60 * 60_000, bad: 30_000 };
const most = 16 * 1024 * 1024;

/** Asks the server. Rows are sorted by name. Throws BackendError, or the signal's reason. */
export async function fetchCatalog(settings: Settings, fetch: Fetch, signal?: AbortSignal): Promise<CatalogRow[]> {
  const stop = new AbortController();
  const late = () => stop.abort(new BackendError("transient", `openai: no list of models in ${limit / 1000} s`));
  const timer = setTimeout(late, limit);
  const onAbort = () => stop.abort(signal?.reason);
  signal?.throwIfAborted();
  signal?.addEventListener("abort", onAbort, { once: true });
  const line = connection(stop.signal, limit);
  try {
    const response = await getModels(settings, fetch, line.signal);
    const { text, whole } = await line.text(response, most);
    if (!response.ok) throw statusError(response.status, response.headers, text, settings.key);
    if (!whole) throw new BackendError("badRequest", `openai: the list of models is over ${most} bytes`);
    return rowsOf(text, settings.key);
  } catch (error) {
    if (error instanceof BackendError) throw error;
    stop.signal.throwIfAborted();
    throw networkError(error, new URL(settings.baseURL).origin, settings.key);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
    line.close();
  }
}

function rowsOf(text: string, key: string): CatalogRow[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw notAStream(text, key);
  }
  const { data, models } = (value ?? {}) as { data?: unknown; models?: unknown };
  const list = [data, models, value].find((candidate) => Array.isArray(candidate));
  if (!list) throw notAStream(text, key);
  const rows = new Map<string, CatalogRow>();
  for (const item of list as (Record<string, unknown> | null)[])
    if (typeof item?.id === "string" && item.id !== "") rows.set(item.id, { id: item.id, context: contextOf(item) });
  return [...rows.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** The names under which servers tell the window; some write the number as text. */
function contextOf(item: Record<string, unknown>): number | undefined {
  for (const name of ["context_length", "context_window", "max_model_len", "max_context_length"]) {
    const tokens = Number(item[name]);
    if (Number.isInteger(tokens) && tokens > 0) return tokens;
  }
  return undefined;
}

/** Keeps what was found for context lengths, which are asked for in each turn. Failures are kept for a short time. */
export function catalogCache(now: () => number = () => performance.now()) {
  let row: { of: string; rows: Promise<CatalogRow[]>; until: number } | undefined;
  return (of: string, fetch: () => Promise<CatalogRow[]>): Promise<CatalogRow[]> => {
    if (row && row.of === of && now() < row.until) return row.rows;
    const mine = { of, rows: fetch(), until: Number.POSITIVE_INFINITY };
    row = mine;
    mine.rows.then(
      () => {
        mine.until = now() + keep.good;
      },
      () => {
        mine.until = now() + keep.bad;
      },
    );
    return mine.rows;
  };
}
