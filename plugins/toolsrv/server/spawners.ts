/** A spawner for each set of rules that calls come with. Each has a thread, and its programs are in one domain. */
import type { Rules } from "#plugins/sandbox";
import { type Confined, confinedSpawner, type Start } from "#plugins/sandbox-landlock";
import { createSpawner, type Means, type Spawner } from "./spawn.ts";

export interface Spawners {
  /** Undefined: with toolsrv's own rights. Rejects with one sentence where the rules can not be enforced. */
  for(rules: Rules | undefined): Promise<Spawner>;
  /** Sets of rules that have a thread. */
  readonly size: number;
  /** Ends all threads. */
  close(): void;
}

export interface SpawnersOptions {
  /** Undefined: there is no koffi, and nothing can be confined. */
  means: Means | undefined;
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

export function spawners({ program, limit = 8, means }: SpawnersOptions): Spawners {
  const plain = createSpawner(means);
  const entries = new Map<string, Entry>();

  const drop = (key: string, { confined }: Entry) => {
    entries.delete(key);
    // Whoever has just been given it starts a program first.
    confined.then((it) => setImmediate(it.close)).catch(() => {});
  };

  const makeRoom = () => {
    for (const [key, entry] of entries) if (entries.size >= limit && entry.running === 0) drop(key, entry);
    if (entries.size >= limit)
      throw new Error(`${limit} sandboxes of this session are in use, end a background process first`);
  };

  const make = (rules: Rules): Entry => {
    const confined = confinedSpawner(program, rules);
    const entry: Entry = { confined, running: 0, spawner: confined.then(({ start }) => counting(entry, start)) };
    return entry;
  };

  const counting = (entry: Entry, start: Start): Spawner => {
    const inner = createSpawner(means, start);
    return {
      start(program) {
        const started = inner.start(program);
        entry.running++;
        started.child.once("exit", () => entry.running--);
        return started;
      },
    };
  };

  return {
    async for(rules) {
      if (!rules || rules.unconfined) return plain;
      if (!means) throw new Error("toolsrv: koffi is needed to confine tools");
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
      for (const [key, entry] of entries) drop(key, entry);
    },
  };
}
