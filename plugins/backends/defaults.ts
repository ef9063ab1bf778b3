/** data/models.yaml: the default model of each backend. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { messageOf, NineError } from "#core";

/** The package's data/models.yaml, from the sources and from a build alike. */
function modelsFile(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  for (;;) {
    const path = join(folder, "data", "models.yaml");
    if (existsSync(path)) return path;
    const up = dirname(folder);
    if (up === folder) throw new NineError("data/models.yaml: file not found in the installed package");
    folder = up;
  }
}

/** The default model of `backend`; undefined where the file has none. Throws NineError where the file is broken. */
export async function defaultModel(backend: string, path = modelsFile()): Promise<string | undefined> {
  const { parse } = await import("yaml");
  let table: unknown;
  try {
    table = parse(await readFile(path, "utf8"));
  } catch (error) {
    throw new NineError(`data/models.yaml: ${messageOf(error).split("\n")[0]}`);
  }
  if (typeof table !== "object" || table === null || !Object.hasOwn(table, backend)) return undefined;
  const row = (table as Record<string, { default?: unknown } | null>)[backend];
  return typeof row?.default === "string" ? row.default : undefined;
}
