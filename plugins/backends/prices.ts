/** What a request costs, by the table of models. What is not in it has no known price, which is not none. */
import { NineError } from "#core";
import type { Usage } from "#plugins/backends";

/** USD per million tokens. */
export interface Price {
  input: number;
  output: number;
  /** Read from the provider's cache. Default: a tenth of `input` for Claude, else a half. */
  cached?: number;
  /** Written to it. Default: 1.25 of `input` for Claude, else as `input`. */
  write?: number;
}

export interface Row extends Partial<Price> {
  /** Tokens. */
  context?: number;
  /** Prices of all of a request that is longer than `tokens`. */
  over?: Price & { tokens: number };
}

export interface Table {
  /** By `plainName`. */
  rows: ReadonlyMap<string, Row>;
  /** Names of rows that are the user's. */
  own: ReadonlySet<string>;
}

const numbers = ["input", "output", "cached", "write", "context"] as const;

/** The rows of the key `models` of a file. Throws NineError for what is no row. */
export function rowsOf(value: unknown): Map<string, Row> {
  const rows = new Map<string, Row>();
  for (const [name, row] of Object.entries(value ?? {})) {
    if (name === "as of") continue;
    rows.set(plainName(name), checked(name, row));
  }
  return rows;
}

function checked(name: string, value: unknown, known: readonly string[] = [...numbers, "over"]): Row {
  if (typeof value !== "object" || value === null) throw new NineError(`models: ${name} is no map`);
  for (const [key, number] of Object.entries(value)) {
    if (!known.includes(key)) throw new NineError(`models: ${name}: unknown key ${key} (known: ${known.join(" ")})`);
    if (key === "over") checked(`${name}.over`, number, ["tokens", "input", "output", "cached", "write"]);
    else if (typeof number !== "number" || !(number >= 0))
      throw new NineError(`models: ${name}: ${key} is no number of 0 or more`);
  }
  return value as Row;
}

/** Lower case, dashes for dots, without what stands before a model's name: vendor, router, region. */
export const plainName = (model: string): string =>
  model
    .toLowerCase()
    .replace(/^.*\//, "")
    .replace(/^([a-z]+\.)+(?=[a-z])/, "")
    .replaceAll(".", "-");

/** What may follow a name without making it another model: a date, a version of the same, an alias. */
const tail = /^(-\d{6,8}|-\d{4}-\d\d-\d\d|-latest|-v\d+|@[\w-]+|:\d+)+$/;

/** The row of a model; undefined where there is none. A longer name is another model, with a price of its own. */
export function rowOf(table: Table, model: string): Row | undefined {
  const name = plainName(model);
  const exact = table.rows.get(name);
  if (exact) return exact;
  for (const [known, row] of table.rows) if (name.startsWith(known) && tail.test(name.slice(known.length))) return row;
  return undefined;
}

/** USD; undefined where the price is not known. */
export function costOf(table: Table, model: string, usage: Usage): number | undefined {
  if (/:free$/i.test(model)) return 0;
  const row = rowOf(table, model);
  const price = row?.over && usage.input > row.over.tokens ? row.over : row;
  if (price?.input === undefined || price.output === undefined) return undefined;
  const claude = plainName(model).startsWith("claude-");
  const { input, output, cached = input * (claude ? 0.1 : 0.5), write = input * (claude ? 1.25 : 1) } = price;
  const { cachedInput = 0, cacheCreation = 0 } = usage;
  const fresh = Math.max(0, usage.input - cachedInput - cacheCreation);
  return (fresh * input + cachedInput * cached + cacheCreation * write + usage.output * output) / 1e6;
}
