/** The session of a folder: made, or found by name. */
import { basename } from "node:path";
import { type Client, RemoteError } from "#core/client";
import type { StartOptions } from "./args.ts";

export interface Place {
  session: string;
  /** Path of its agent. */
  path: string;
  /** The folder that its tools run in. */
  cwd: string;
  backend: string;
  model: string;
}

/** Makes a session with one agent in `cwd`, named after the folder. Throws Error with the daemon's sentence. */
export async function makeSession(client: Client, cwd: string, options: StartOptions): Promise<Place> {
  const base = nameFor(cwd);
  for (let number = 1; ; number++) {
    const name = number === 1 ? base : `${base}-${number}`;
    if (await exists(client, `session/${name}`)) continue;
    const keys = { name, cwd, backend: options.backend, model: options.model, agent: options.agent };
    const lines = Object.entries(keys).flatMap(([key, value]) => (value === undefined ? [] : [`${key}=${value}\n`]));
    try {
      await client.rdwr("session/new", lines.join(""));
    } catch (error) {
      // Somebody else may have taken the name in the meantime.
      if (error instanceof RemoteError && (await exists(client, `session/${name}`))) continue;
      throw error;
    }
    return findSession(client, name);
  }
}

/** The first agent of a session that exists. */
export async function findSession(client: Client, name: string): Promise<Place> {
  const index = (await client.read("session/idx")).toString();
  for (const line of index.split("\n")) {
    const [session, , cwd = "", backend = "", model = "", agent = "", id] = line.split("\t");
    if (session === undefined || (session !== name && id !== name)) continue;
    if (agent === "") throw new Error(`session ${session} has no agent: write to session/${session}/agent/new`);
    return { session, path: `session/${session}/agent/${agent}`, cwd, backend, model };
  }
  throw new Error(`session ${JSON.stringify(name)} does not exist: session/idx lists them`);
}

/** A session's name from a folder's: what the tree allows in names. */
export function nameFor(cwd: string): string {
  const name = basename(cwd)
    .replace(/[^\p{L}\p{N}._-]+/gu, "-")
    .replace(/^[.-]+/, "")
    .slice(0, 48);
  return name === "" || name === "new" || name === "idx" ? "session" : name;
}

async function exists(client: Client, path: string): Promise<boolean> {
  try {
    await client.walk(path);
    return true;
  } catch (error) {
    if (error instanceof RemoteError) return false;
    throw error;
  }
}
