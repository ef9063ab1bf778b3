/**
 * The login of kiro-cli, in its SQLite file. Read and written by the program `sqlite3`: Node 20 has no SQLite of its own,
 * a package would bring megabytes of it for two rows, and another program writes the file at the same time.
 */
import { spawn } from "node:child_process";
import { homedir } from "node:os";
import { join } from "node:path";
import { BackendError } from "#plugins/backends";

/** Where kiro-cli keeps its data. */
export const databasePath = (env: NodeJS.ProcessEnv): string =>
  join(env.XDG_DATA_HOME || join(env.HOME || homedir(), ".local/share"), "kiro-cli/data.sqlite3");

/** Milliseconds. */
const limit = 5_000;

/** Values of `keys` in `table`. Throws BackendError `auth`. */
export async function readValues(file: string, table: string, keys: readonly string[]): Promise<Map<string, string>> {
  const list = keys.map(quoted).join(", ");
  const sql = `SELECT key, CAST(value AS TEXT) AS value FROM ${table} WHERE key IN (${list});`;
  const text = await run(file, ["-readonly", "-json"], sql);
  const rows = text.trim() === "" ? [] : (JSON.parse(text) as { key: string; value: string }[]);
  return new Map(rows.map(({ key, value }) => [key, value]));
}

/** Replaces the value of `key`, unless somebody else has changed it since it was `before`. Throws BackendError `auth`. */
export async function replaceValue(file: string, key: string, before: string, after: string): Promise<void> {
  const sql = `UPDATE auth_kv SET value = ${quoted(after)} WHERE key = ${quoted(key)} AND value = ${quoted(before)};`;
  await run(file, [], sql);
}

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** The statement goes by the standard input: arguments are seen by everybody. */
function run(file: string, options: string[], sql: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (why: string) => reject(new BackendError("auth", `kiro: ${file}: ${why}`));
    const child = spawn("sqlite3", ["-batch", ...options, file], { timeout: limit, stdio: ["pipe", "pipe", "pipe"] });
    let out = "";
    let problem = "";
    child.on("error", (error: NodeJS.ErrnoException) =>
      fail(
        error.code === "ENOENT"
          ? "the program sqlite3 is needed to read it (install it, or set OLLIE_KIRO_TOKEN)"
          : error.message,
      ),
    );
    child.on("close", (code) =>
      code === 0 ? resolve(out) : fail(problem.split("\n")[0] || `sqlite3 ended with ${code}`),
    );
    // without a descriptor that is left there are no streams
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      out += text;
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      problem += text;
    });
    child.stdin?.on("error", () => {}); // it ended early, which `close` tells
    child.stdin?.end(`.timeout 3000\n${sql}\n`);
  });
}
