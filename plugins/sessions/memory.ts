/** Sessions that are not kept (option `persist: false`): tests and embedders. */
import { closeSync, mkdtempSync, openSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Folder } from "./folder.ts";
import type { SessionStore } from "./store.ts";

/** A folder in name only. Files that parts ask for lie in a temporary directory that goes with it. */
export function memoryFolder(): Folder {
  let dir: string | undefined;
  const store = (id: string): SessionStore => ({
    load: async () => ({ sections: {}, lines: [], torn: 0 }),
    journal: async () => {},
    save: async () => "",
    file(suffix) {
      dir ??= mkdtempSync(join(tmpdir(), "ollie-sessions-"));
      const path = join(dir, `${id}.${suffix}`);
      closeSync(openSync(path, "a", 0o600));
      return path;
    },
    remove: async () => {},
    close: async () => {},
  });
  return {
    path: "",
    scan: async () => [],
    store,
    setAside: async () => {},
    async close() {
      if (dir !== undefined) await rm(dir, { recursive: true, force: true });
    },
  };
}
