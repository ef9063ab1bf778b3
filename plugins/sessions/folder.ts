/** The sessions folder: what is saved there, what is damaged, what is not ours. Nothing in it is ever deleted unasked. */
import { createHash, randomUUID } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { chmod, copyFile, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "#core";
import { firstLine, lastBytes, privateDir, replaceFile, syncDir } from "./disk.ts";
import { lastHead } from "./journal.ts";
import { fromLegacy } from "./legacy.ts";
import { isLockFile, lock } from "./lock.ts";
import { decode, decodeHead, END, encode, type Header, NewerVersion, parse, withHead } from "./snapshot.ts";
import { type SessionStore, sessionStore } from "./store.ts";

const ours = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.(.+)$/;

export interface Scan {
  headers: Header[];
  damaged: Damaged[];
}

/** A session whose file can not be read; `name` is its id where that can not be told either. */
export interface Damaged {
  name: string;
  id: string;
}

export interface Folder {
  readonly path: string;
  /** What is saved, sorted by file name. Damaged files are kept aside, others passed over; all is reported. */
  scan(): Promise<Scan>;
  store(id: string): SessionStore;
  /** Renames a session's files out of the way and reports it: `{id}.json.damaged-{time}`. */
  setAside(id: string, why: string): Promise<void>;
  close(): void;
}

/** `report` gets a sentence about a file and the session's id where it is known. Throws where another daemon holds the folder. */
export function openFolder(path: string, report: (text: string, id?: string) => void): Folder {
  privateDir(path);
  const release = lock(path);

  const setAside = async (id: string, why: string) => {
    const mark = `damaged-${new Date().toISOString().replace(/[:.]/g, "")}`;
    for (const name of [`${id}.json`, `${id}.journal.jsonl`]) {
      const file = join(path, name);
      await rename(file, `${file}.${mark}`).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== "ENOENT") throw error;
      });
    }
    await syncDir(path);
    report(`saved file is damaged (${why}), kept as ${join(path, `${id}.json.${mark}`)}`, id);
  };

  /** A file that is called like a session. */
  const header = async (id: string, damaged: Damaged[]): Promise<Header | undefined> => {
    try {
      const found = await readHead(join(path, `${id}.json`));
      const head = found?.id === id ? lastHead(join(path, `${id}.journal.jsonl`)) : undefined;
      if (found?.id === id) return head ? withHead(found, head) : found;
      const legacy = found ? undefined : await adopt(path, `${id}.json`, id);
      if (legacy) return legacy;
      report(`file ${id}.json is passed over: it holds ${found ? `the session ${found.id}` : "no session"}`);
    } catch (error) {
      if (isDamage(error)) {
        damaged.push({ name: nameIn(join(path, `${id}.json`)) ?? id, id });
        await setAside(id, messageOf(error));
      } else report(`file ${id}.json is passed over: ${messageOf(error)}`, id);
    }
    return undefined;
  };

  /** A file with any other name: an older session, or not ours. */
  const foreign = async (name: string): Promise<Header | undefined> => {
    const adopted = name.endsWith(".json") ? await adopt(path, name, uuidOf(name)).catch(() => undefined) : undefined;
    if (!adopted) report(`file ${name} is passed over: it is no saved session`);
    return adopted;
  };

  return {
    path,
    async scan() {
      const names = readdirSync(path).sort();
      const ids = new Set(names.filter((name) => ours.exec(name)?.[2] === "json").map((name) => name.slice(0, -5)));
      const headers: Header[] = [];
      const damaged: Damaged[] = [];
      for (const name of names) {
        const [, id, suffix = ""] = ours.exec(name) ?? [];
        if (isLockFile(name) || name.startsWith(".") || /\.(damaged-[^.]*|imported)$/.test(name)) continue;
        let found: Header | undefined;
        if (id === undefined) found = await foreign(name);
        else if (suffix === "json") found = await header(id, damaged);
        else if (suffix === "json.tmp" || suffix === "journal.jsonl.tmp") await rm(join(path, name), { force: true });
        else if (!ids.has(id)) report(`file ${name} is passed over: its session is not here`);
        if (found) headers.push(found);
      }
      return { headers, damaged };
    },
    store: (id) => sessionStore(path, id),
    setAside,
    close: release,
  };
}

/** The session's name in a file that is otherwise damaged. */
function nameIn(path: string): string | undefined {
  try {
    return decodeHead(firstLine(path))?.name || undefined;
  } catch {
    return undefined;
  }
}

/**
 * The header of a file, from its first line where that is one and the file ends as we write it; else from all of it, since
 * an editor may have been at it. Undefined where the file is JSON but no session.
 */
async function readHead(path: string): Promise<Header | undefined> {
  const quick = decodeHead(firstLine(path));
  if (quick && lastBytes(path, END.length) === END) return quick;
  const text = await readFile(path, "utf8");
  if (text.trim() === "") throw new Error("it is empty");
  if (quick && !text.trimEnd().endsWith("}")) throw new Error("it was cut short");
  const value = parse(text);
  return typeof value === "object" && value !== null && "session" in value ? decode(text) : undefined;
}

/**
 * Turns a file of the older form into one of ours, and keeps the old one as `{name}.imported`. A crash in between is
 * made good by the next start: the old file goes last, and its new id depends on its name alone.
 */
async function adopt(dir: string, name: string, id: string): Promise<Header | undefined> {
  const old = join(dir, name);
  const file = join(dir, `${id}.json`);
  const snapshot = fromLegacy(parse(await readFile(old, "utf8")), id, randomUUID(), (await stat(old)).mtimeMs);
  if (!snapshot) return undefined;
  if (file !== old && existsSync(file)) {
    await rename(old, `${old}.imported`);
    return undefined;
  }
  await copyFile(old, `${old}.imported`);
  await chmod(`${old}.imported`, 0o600);
  await replaceFile(file, (draft) => draft.writeFile(encode(snapshot)));
  if (file !== old) await rm(old);
  return snapshot;
}

/** A UUID made of a name. */
function uuidOf(name: string): string {
  const hex = createHash("sha256").update(name).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** Whether an error tells of a file's content, not of the way to it (too many open files, no permission). */
export const isDamage = (error: unknown): boolean =>
  !(error instanceof NewerVersion) && (error as NodeJS.ErrnoException | null)?.code === undefined;
