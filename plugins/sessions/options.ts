/** The plugin's options, checked by hand: a schema library would cost the daemon's start more than all of sessions/. */
import type { StandardSchemaV1 } from "#core";

export interface Options {
  /** Folder of the saved sessions. Default: {data}/sessions. */
  dir?: string;
  /** False: nothing is kept. Default true. */
  persist?: boolean;
}

export const options: StandardSchemaV1<Options | undefined, { dir: string | undefined; persist: boolean }> = {
  "~standard": {
    version: 1,
    vendor: "ollie",
    validate(value) {
      if (value !== undefined && (typeof value !== "object" || value === null)) return bad("options are an object");
      const { dir, persist = true, ...others } = (value ?? {}) as Record<string, unknown>;
      const [unknown] = Object.keys(others);
      if (unknown !== undefined) return bad(`unknown key ${JSON.stringify(unknown)} (keys: dir persist)`, unknown);
      if (dir !== undefined && typeof dir !== "string") return bad("dir is a path", "dir");
      if (typeof persist !== "boolean") return bad("persist is true or false", "persist");
      return { value: { dir, persist } };
    },
  },
};

const bad = (message: string, key?: string) => ({ issues: [{ message, ...(key !== undefined && { path: [key] }) }] });
