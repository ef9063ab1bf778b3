/** Values that others wait for. A waiter is told by the change itself, so none is missed however short it was. */
import type { WatchField } from "./types.ts";

export interface Change {
  readonly count: number;
  readonly value: string;
}

export interface Watch {
  get(field: WatchField): string;
  set(field: WatchField, value: string): void;
  /** Number of changes of the field so far. */
  count(field: WatchField): number;
  /**
   * The first change after the `count`th whose value differs from `baseline`; undefined: none yet. Only the last 64 are
   * kept: for an older count the answer is the present value.
   */
  since(field: WatchField, count: number, baseline: string): Change | undefined;
  /** Calls `fn` at each change, and with undefined at the end. Returns its undo. */
  on(field: WatchField, fn: (change: Change | undefined) => void): () => void;
  /** As Agent.waitChange. */
  wait(field: WatchField, current: string, signal: AbortSignal): Promise<string | undefined>;
  end(): void;
}

const kept = 64;

interface Row {
  value: string;
  count: number;
  recent: Change[];
  listeners: Set<(change: Change | undefined) => void>;
}

export function watch(initial: Record<WatchField, string>): Watch {
  const rows = new Map<WatchField, Row>();
  for (const [field, value] of Object.entries(initial))
    rows.set(field as WatchField, { value, count: 0, recent: [], listeners: new Set() });
  const row = (field: WatchField) => rows.get(field) as Row;
  let ended = false;
  const on: Watch["on"] = (field, fn) => {
    const { listeners } = row(field);
    listeners.add(fn);
    return () => listeners.delete(fn);
  };
  return {
    get: (field) => row(field).value,
    count: (field) => row(field).count,
    set(field, value) {
      const at = row(field);
      if (at.value === value || ended) return;
      at.value = value;
      const change = { count: ++at.count, value };
      at.recent.push(change);
      if (at.recent.length > kept) at.recent.shift();
      for (const fn of [...at.listeners]) fn(change);
    },
    since(field, count, baseline) {
      const at = row(field);
      const lost = at.count - count > at.recent.length;
      if (lost) return at.value === baseline ? undefined : { count: at.count, value: at.value };
      return at.recent.find((change) => change.count > count && change.value !== baseline);
    },
    on,
    wait(field, current, signal) {
      const now = row(field).value;
      if (now !== current) return Promise.resolve(now);
      if (ended || signal.aborted) return Promise.resolve(undefined);
      return new Promise((resolve) => {
        const done = (value: string | undefined) => {
          off();
          signal.removeEventListener("abort", aborted);
          resolve(value);
        };
        const off = on(field, (change) => {
          if (!change || change.value !== current) done(change?.value);
        });
        const aborted = () => done(undefined);
        signal.addEventListener("abort", aborted, { once: true });
      });
    },
    end() {
      ended = true;
      for (const { listeners } of rows.values()) for (const fn of [...listeners]) fn(undefined);
    },
  };
}
