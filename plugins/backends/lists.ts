/** Model lists: cached, shared by those who ask at the same time, each within a time limit. */
import { messageOf } from "#core";

export interface ModelList {
  backend: string;
  /** Sorted. Empty where it failed. */
  models: string[];
  error?: string;
}

/** Milliseconds that an answer is kept: a failure only so long that a burst of readers asks once. */
const keep = { good: 60 * 60_000, bad: 10_000 };

export interface ModelLists {
  /** Never throws: a failure is the list's `error`. */
  get(backend: string, fetch: (signal: AbortSignal) => Promise<string[]>): Promise<ModelList>;
  /** Forgets one backend's list, or all. */
  drop(backend?: string): void;
}

/** `limit`: milliseconds for one list. `now`: a clock that never goes back, in milliseconds. */
export function modelLists(limit: number, now: () => number = () => performance.now()): ModelLists {
  const cache = new Map<string, { list: Promise<ModelList>; until: number }>();
  return {
    get(backend, fetch) {
      const old = cache.get(backend);
      if (old && now() < old.until) return old.list;
      const row = { list: ask(backend, fetch, limit), until: Number.POSITIVE_INFINITY };
      cache.set(backend, row);
      row.list.then(({ error }) => {
        row.until = now() + (error === undefined ? keep.good : keep.bad);
      });
      return row.list;
    },
    drop(backend) {
      if (backend === undefined) cache.clear();
      else cache.delete(backend);
    },
  };
}

async function ask(
  backend: string,
  fetch: (signal: AbortSignal) => Promise<string[]>,
  limit: number,
): Promise<ModelList> {
  const stop = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  try {
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no list of models came in ${limit / 1000} s`)), limit);
    });
    return { backend, models: await Promise.race([fetch(stop.signal), late]) };
  } catch (error) {
    return { backend, models: [], error: messageOf(error) };
  } finally {
    clearTimeout(timer);
    stop.abort();
  }
}
