/**
 * What a resolution has looked at, to be asked later whether it would see the same. It is asked at each call: so what lies in
 * a folder that nobody has changed is not looked at one by one.
 */
import { type Stats, statSync } from "node:fs";
import { dirname } from "node:path";
import { lstatOf, realPath } from "./paths.ts";

export interface Sight {
  /** Before `path` is looked at. `content`: what it holds counts, not only which file or folder it is. */
  saw(path: string, content?: boolean): void;
  /** Whether all that was looked at is what it was. */
  same(): boolean;
}

/** A folder on the way to something. */
interface Folder {
  /** Empty: it is not there. Undefined: it is a link, or no folder. */
  id: string | undefined;
  /** Its ctime: of the last change of a name in it. Nobody can set it. */
  changed: number;
  /** Its last change is so long ago that another one would have had another time, on any file system. */
  settled: boolean;
}

/** What is found of a folder now. */
interface Found {
  folder: Folder;
  /** It and all above it are those that were seen, and no links. */
  way: boolean;
  /** And no name in it has changed. */
  quiet: boolean;
}

/** What was seen. `plain`: no link led there, and none that leads nowhere stands there: its folder tells whether it changes. */
interface Seen {
  /** Undefined: it may change unseen, and is not believed. */
  was: string | undefined;
  plain: boolean;
}

/** Milliseconds: the coarsest clock of a file system, and how long a mount over what was seen may go unnoticed. */
const clock = 2000;
const unnoticed = 1000;

export function sight(now: () => number = Date.now): Sight {
  const places = new Map<string, Seen>();
  const contents = new Map<string, Seen>();
  const folders = new Map<string, Folder>();
  let all = 0;

  const remember = (path: string): void => {
    if (folders.has(path)) return;
    if (path !== dirname(path)) remember(dirname(path));
    folders.set(path, folderOf(path, now()));
  };

  const find = (path: string, found: Map<string, Found>): Found => {
    const known = found.get(path);
    if (known) return known;
    const above = path === dirname(path) || find(dirname(path), found).way;
    const was = folders.get(path);
    const folder = folderOf(path, now());
    const way = above && folder.id !== undefined && folder.id === was?.id;
    const here = { folder, way, quiet: way && was.settled && folder.changed === was.changed };
    found.set(path, here);
    return here;
  };

  /** Whether `path` is what it was, by what its folder tells where that is enough. */
  const stays = (path: string, seen: Seen, found: Map<string, Found>): boolean => {
    const above = find(dirname(path), found);
    if (above.way && seen.plain) {
      if (above.quiet) return true;
      const stat = lstatOf(path);
      if (!stat?.isSymbolicLink()) return (stat ? `${idOf(stat)}:${path}` : "") === seen.was;
      seen.plain = false;
    }
    return placeOf(path) === seen.was;
  };

  return {
    saw(path, content = false) {
      const seen = content ? contents : places;
      if (seen.has(path)) return;
      remember(dirname(path));
      const place = placeOf(path);
      const plain = place === "" ? lstatOf(path) === undefined : place.endsWith(`:${path}`);
      seen.set(path, { was: content ? firstContentOf(path, now()) : place, plain });
    },
    same() {
      const found = new Map<string, Found>();
      for (const [path, seen] of contents)
        if (!(seen.was === "" ? stays(path, seen, found) : contentOf(path) === seen.was)) return false;
      const since = now() - all;
      // A clock that was set back says nothing.
      const each = since < 0 || since >= unnoticed;
      for (const [path, seen] of places)
        if (!(each ? placeOf(path) === seen.was : stays(path, seen, found))) return false;
      if (each) all = now();
      // What was looked at one by one need not be again.
      for (const [path, { folder }] of found) folders.set(path, folder);
      return true;
    },
  };
}

const look = (path: string): Stats | undefined => {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined; // out of reach, or through something that is no folder
  }
};

const idOf = ({ dev, ino }: Stats): string => `${dev}:${ino}`;

function folderOf(path: string, now: number): Folder {
  const stat = lstatOf(path);
  if (!stat) return { id: "", changed: 0, settled: true };
  if (!stat.isDirectory()) return { id: undefined, changed: 0, settled: false };
  return { id: idOf(stat), changed: stat.ctimeMs, settled: now - stat.ctimeMs > clock };
}

/** Empty: nothing is there, or it is out of reach. Else which it is, and where: rules hold both. */
function placeOf(path: string): string {
  const stat = look(path);
  return stat ? `${idOf(stat)}:${realPath(path)}` : "";
}

/** Undefined: a file that was written just now, and may be once more without a trace, in the same tick of the clock. */
function firstContentOf(path: string, now: number): string | undefined {
  const stat = look(path);
  return stat?.isFile() && now - stat.ctimeMs <= clock ? undefined : contentOf(path);
}

function contentOf(path: string): string {
  const stat = look(path);
  return stat ? `${idOf(stat)}:${stat.size}:${stat.mtimeMs}:${stat.ctimeMs}` : "";
}
