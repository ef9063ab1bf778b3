/**
 * What a resolution has looked at, to be asked later whether it would see the same: to look again costs a tenth of what it
 * costs to resolve again, and it is done at each call.
 */
import { statSync } from "node:fs";
import { realPath } from "./paths.ts";

export interface Sight {
  /** Before `path` is looked at. `content`: what it holds counts, not only which file or folder it is. */
  saw(path: string, content?: boolean): void;
  /** Whether all that was looked at is what it was. */
  same(): boolean;
}

export function sight(): Sight {
  const places = new Map<string, string>();
  const contents = new Map<string, string>();
  return {
    saw(path, content = false) {
      const seen = content ? contents : places;
      if (!seen.has(path)) seen.set(path, content ? contentOf(path) : placeOf(path));
    },
    same() {
      for (const [path, was] of contents) if (contentOf(path) !== was) return false;
      for (const [path, was] of places) if (placeOf(path) !== was) return false;
      return true;
    },
  };
}

const look = (path: string) => {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined; // out of reach, or through something that is no folder
  }
};

/** Empty: nothing is there, or it is out of reach. Else which it is, and where: rules hold both. */
function placeOf(path: string): string {
  const stat = look(path);
  return stat ? `${stat.dev}:${stat.ino}:${realPath(path)}` : "";
}

function contentOf(path: string): string {
  const stat = look(path);
  return stat ? `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeMs}:${stat.ctimeMs}` : "";
}
