/** What a provider's list of models tells: names and context lengths, within a time limit, asked for once in a while. */
import { type Exchange, exchangeJson } from "./exchange.ts";

export interface CatalogRow {
  id: string;
  /** Tokens; undefined where the server does not say, or says nonsense. */
  context: number | undefined;
}

/** Milliseconds. */
const keep = { good: 60 * 60_000, bad: 30_000 };

/** Asks the server. Rows are sorted by name. Throws as `exchangeJson` does. */
export async function fetchCatalog(request: Exchange): Promise<CatalogRow[]> {
  const value = await exchangeJson(request);
  const { data, models } = (value ?? {}) as { data?: unknown; models?: unknown };
  const list = [data, models, value].find((candidate) => Array.isArray(candidate));
  if (!list) throw request.fail.noReply(JSON.stringify(value));
  const rows = new Map<string, CatalogRow>();
  for (const item of list as (Record<string, unknown> | null)[])
    if (typeof item?.id === "string" && item.id !== "") rows.set(item.id, { id: item.id, context: contextOf(item) });
  return [...rows.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** The names under which servers tell the window; some write the number as text. */
function contextOf(item: Record<string, unknown>): number | undefined {
  for (const name of ["context_length", "context_window", "max_input_tokens", "max_model_len", "max_context_length"]) {
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
