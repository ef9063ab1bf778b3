/** A spawner for each set of rules that calls come with. Each has a thread, a shell forked ahead, and its programs in one domain. */
import type { Rules } from "#plugins/sandbox";
import { type Confined, confinedSpawner } from "#plugins/sandbox-landlock";
import { createSpawner, type Spawner, type SpawnerOptions } from "./spawn.ts";

export interface Spawners {
  /** Undefined: with toolsrv's own rights. Rejects with one sentence where the rules can not be enforced. */
  for(rules: Rules | undefined): Promise<Spawner>;
  /** Sets of rules that have a thread. */
  readonly size: number;
  /** Ends all threads and shells that wait. */
  close(): void;
}

export interface SpawnersOptions extends Omit<SpawnerOptions, "launch"> {
  /** The file that runs a spawner thread. */
  program: URL;
  /** Most threads at once; the longest unused goes where it runs nothing. Default 8. */
  limit?: number;
}

interface Entry {
  spawner: Promise<Spawner>;
  confined: Promise<Confined>;
  /** Programs that have not ended. */
  running: number;
}

export function spawners({ program, limit = 8, ...options }: SpawnersOptions): Spawners {
  let plain: Spawner | undefined;
  const entries = new Map<string, Entry>();

  const drop = (key: string, { spawner, confined }: Entry) => {
    entries.delete(key);
    spawner.then((it) => it.close()).catch(() => {});
    confined.then((it) => it.close()).catch(() => {});
  };

  const makeRoom = () => {
    for (const [key, entry] of entries) if (entries.size >= limit && entry.running === 0) drop(key, entry);
    if (entries.size >= limit)
      throw new Error(`${limit} sandboxes of this session are in use, end a background process first`);
  };

  const make = (rules: Rules): Entry => {
    const confined = confinedSpawner(program, rules);
    const entry: Entry = { confined, running: 0, spawner: confined.then(({ launch }) => ready(entry, launch)) };
    return entry;
  };

  const ready = (entry: Entry, launch: Confined["launch"]): Spawner => {
    const inner = createSpawner({ ...options, launch });
    inner.prepare();
    return {
      ...inner,
      get spare() {
        return inner.spare;
      },
      start(job) {
        const started = inner.start(job);
        if (started.child.pid === undefined) return started;
        entry.running++;
        started.child.once("exit", () => entry.running--);
        return started;
      },
    };
  };

  return {
    async for(rules) {
      if (!rules || rules.unconfined) {
        plain ??= createSpawner(options);
        plain.prepare();
        return plain;
      }
      if (!options.libc) throw new Error("toolsrv: koffi is needed to confine tools");
      const key = JSON.stringify(rules);
      let entry = entries.get(key);
      if (entry) entries.delete(key);
      else {
        makeRoom();
        entry = make(rules);
        const made = entry;
        made.spawner.catch(() => entries.get(key) === made && entries.delete(key));
      }
      entries.set(key, entry);
      return entry.spawner.catch((error: Error) => {
        throw new Error(`the sandbox could not be made: ${error.message}`);
      });
    },
    get size() {
      return entries.size;
    },
    close() {
      plain?.close();
      for (const [key, entry] of entries) drop(key, entry);
    },
  };
}
