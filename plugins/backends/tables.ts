/** data/models.yaml and, over it, the user's {cfg}/models.yaml: default models, free backends, prices and windows. */
import { existsSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { configDir, messageOf, NineError, packageRoot } from "#core";
import { type Row, rowsOf, type Table } from "./prices.ts";

export interface Tables {
  /** The default model of a backend; undefined where the files have none. */
  defaultOf(backend: string): string | undefined;
  /** What it does costs nothing. */
  isFree(backend: string): boolean;
  readonly models: Table;
}

type Yaml = Record<string, unknown>;

const isMap = (value: unknown): value is Yaml => typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * A reader of both files, which reads again what has changed. Throws NineError where the package's own is broken; one
 * of the user's that is broken is told to `warn`, once, and left out.
 */
export function tables(env: NodeJS.ProcessEnv, warn: (text: string) => void): () => Promise<Tables> {
  let known: { key: string; tables: Promise<Tables> } | undefined;
  return () => {
    const own = join(packageRoot(), "data", "models.yaml");
    const users = join(configDir(env), "models.yaml");
    const key = `${stamp(own)} ${users} ${stamp(users)}`;
    if (known?.key !== key) known = { key, tables: read(own, users, warn) };
    return known.tables;
  };
}

const stamp = (path: string): string => {
  const found = statSync(path, { throwIfNoEntry: false });
  return found ? `${found.mtimeMs} ${found.size}` : "-";
};

async function read(own: string, users: string, warn: (text: string) => void): Promise<Tables> {
  const base = await parsed(own);
  let over: Yaml = {};
  let models: Map<string, Row> = new Map();
  try {
    over = existsSync(users) ? await parsed(users) : {};
    models = rowsOf(over.models);
  } catch (error) {
    warn(`${users}: ${messageOf(error)} (the file is not used)`);
    over = {};
  }
  const rowOf = (backend: string, key: string) => {
    for (const table of [over, base]) {
      const row = Object.hasOwn(table, backend) && backend !== "models" ? table[backend] : undefined;
      if (isMap(row) && row[key] !== undefined) return row[key];
    }
    return undefined;
  };
  const merged = rowsOf(base.models);
  for (const [name, row] of models) merged.set(name, { ...merged.get(name), ...row });
  return {
    defaultOf(backend) {
      const name = rowOf(backend, "default");
      return typeof name === "string" ? name : undefined;
    },
    isFree: (backend) => rowOf(backend, "free") === true,
    models: { rows: merged, own: new Set(models.keys()) },
  };
}

async function parsed(path: string): Promise<Yaml> {
  const { parse } = await import("yaml");
  try {
    const value: unknown = parse(await readFile(path, "utf8")) ?? {};
    if (!isMap(value)) throw new NineError("no map of backends and models");
    return value;
  } catch (error) {
    throw new NineError(`${path}: ${messageOf(error).split("\n")[0]}`);
  }
}
