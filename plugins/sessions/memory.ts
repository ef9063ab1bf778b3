/** Sessions that are not kept (option `persist: false`): tests and embedders. */
import { closeSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Folder } from "./folder.ts";
import { decode, encode } from "./snapshot.ts";
import type { SessionStore } from "./store.ts";

/** A folder in name only. Files that parts ask for lie in a temporary directory that goes with it. */
export function memoryFolder(): Folder {
  let dir: string | undefined;
  const store = (id: string): SessionStore => {
    let text = "";
    return {
      path: "",
      load: () => ({ sections: text === "" ? {} : decode(text).sections, lines: [], torn: 0 }),
      journal: async () => {},
      head: async () => {},
      behind: true,
      onePiece: false,
      due: false,
      overdue: false,
      async save(make) {
        text = encode(make(0));
        return "";
      },
      kept: () => 0,
      async *items() {},
      file(suffix) {
        dir ??= mkdtempSync(join(tmpdir(), "ollie-sessions-"));
        const path = join(dir, `${id}.${suffix}`);
        closeSync(openSync(path, "a", 0o600));
        return path;
      },
      remove: async () => {},
      rest: async () => {},
    };
  };
  return {
    path: "",
    scan: async () => ({ headers: [], damaged: [] }),
    store,
    setAside: async () => {},
    close() {
      if (dir !== undefined) rmSync(dir, { recursive: true, force: true });
    },
  };
}
