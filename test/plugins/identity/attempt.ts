/**
 * What an attacker's program does: tries things at a socket and prints what came of each, as JSON. Arguments: JSON with
 * `addr` (default: the name space), `uname`, and `acts`: [verb, path, text] each. With `within`, a folder, it tries them at
 * every socket there that it can find, by every name of `unames`: it prints, of each of these, how many were answered and
 * those that were not refused.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Client, connect, ORDWR, OREAD, OWRITE } from "#core/client";
import type { Outcome } from "./rig.ts";
import { granted } from "./rights.ts";

const { addr, uname, acts, within, unames } = JSON.parse(process.argv[2] ?? "{}") as {
  addr?: string;
  uname?: string;
  acts: [verb: "read" | "write" | "rdwr" | "open" | "remove" | "rename", path: string, text?: string][];
  within?: string;
  unames?: string[];
};

const modes: Record<string, number> = { r: OREAD, w: OWRITE, rw: ORDWR };

async function act(client: Client, [verb, path, text = ""]: (typeof acts)[number]): Promise<string> {
  const signal = AbortSignal.timeout(3000);
  if (verb === "read") return `ok ${(await client.read(path, { signal })).toString().trim()}`;
  if (verb === "write") await client.write(path, text, { signal });
  else if (verb === "rdwr") return `ok ${(await client.rdwr(path, text, { signal })).toString().trim()}`;
  // Rights are looked at when a file is opened: this does not wait for what a stream may tell.
  else if (verb === "open") await (await client.open(path, modes[text] ?? OREAD, { signal })).close();
  else if (verb === "remove") await client.remove(path);
  else await client.wstat(path, { name: text });
  return "ok";
}

async function tryAt(addr: string | undefined, uname: string | undefined): Promise<string[]> {
  const results: string[] = [];
  try {
    const client = await connect(addr, { uname });
    for (const one of acts) results.push(await act(client, one).catch((error: Error) => error.message));
    await client.close();
  } catch (error) {
    results.push(`no way in: ${(error as Error).message}`);
  }
  return results;
}

/** By name in the file system, and as the kernel lists them: under the names that they were bound to, beside the final one. */
function socketsIn(dir: string): string[] {
  const listed = readFileSync("/proc/net/unix", "latin1").match(/\/\S*$/gm) ?? [];
  const bound = listed.filter((path) => path.startsWith(dir)).map((path) => join(dirname(path), "ollie"));
  return [...new Set([...walk(dir), ...bound])];
}

function walk(dir: string): string[] {
  try {
    const found = readdirSync(dir, { withFileTypes: true });
    return found.flatMap((entry) => {
      const path = join(dir, entry.name);
      return entry.isDirectory() ? walk(path) : entry.isSocket() ? [path] : [];
    });
  } catch {
    return [];
  }
}

if (within === undefined) process.stdout.write(`${JSON.stringify(await tryAt(addr, uname))}\n`);
else {
  const all: Record<string, Outcome> = {};
  for (const path of socketsIn(within))
    for (const name of unames ?? []) {
      const results = await tryAt(`unix!${path}`, name);
      all[`${path} as ${name}`] = { answered: results.length, more: granted(acts, results) };
    }
  process.stdout.write(`[${JSON.stringify(all)}]\n`);
}
process.exit(0);
