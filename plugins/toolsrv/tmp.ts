/** Folders for temporary files: one per session, one per agent below it, 0700, gone with them. */
import { randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { dataDir, expandHome, readRegular } from "#core";
import { startTime } from "./sweep.ts";

export interface TmpDirs {
  /** Makes both where they are missing. */
  of(session: string, agent: string): { session: string; agent: string };
  remove(session: string, agent?: string): void;
  /** Removes what daemons left that run no more. */
  wipeDead(): void;
}

const ownerFile = ".owner";
/** Begins the names of folders that are being removed. */
const leaving = ".gone-";

/** OLLIE_TMP_PATH, else tmp/ where ollie keeps its data. */
export const tmpBase = (env: NodeJS.ProcessEnv): string =>
  env.OLLIE_TMP_PATH ? expandHome(env.OLLIE_TMP_PATH, env) : join(dataDir(env), "tmp");

/** Socket paths hold 108 bytes at most, and programs put sockets into TMPDIR: twelve digits of a UUID are enough. */
const short = (id: string): string => id.replace(/[^0-9A-Za-z]/g, "").slice(0, 12);

export function tmpDirs(base: string): TmpDirs {
  const owner = `${process.pid} ${startTime(process.pid)}\n`;
  const sessionDir = (session: string) => join(base, short(session));
  // Moved to where no tool may go first: else one that still runs could put a link in place of a folder in it that is
  // just being emptied, and the files which that leads to would be removed.
  const remove = (dir: string) => {
    const gone = join(base, `${leaving}${randomUUID()}`);
    try {
      renameSync(dir, gone);
    } catch {
      return; // it is not there
    }
    rmSync(gone, { recursive: true, force: true });
  };
  return {
    of(session, agent) {
      const mine = sessionDir(session);
      const agentDir = join(mine, short(agent));
      if (mkdirSync(mine, { recursive: true, mode: 0o700 }) !== undefined)
        writeFileSync(join(mine, ownerFile), owner, { mode: 0o600 });
      mkdirSync(agentDir, { recursive: true, mode: 0o700 });
      return { session: mine, agent: agentDir };
    },
    remove(session, agent) {
      remove(agent === undefined ? sessionDir(session) : join(sessionDir(session), short(agent)));
    },
    wipeDead() {
      for (const name of entries(base))
        if (name.startsWith(leaving) || isDead(join(base, name, ownerFile))) remove(join(base, name));
    },
  };
}

function entries(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
}

/** Only folders that say whose they are, and whose daemon is gone: a pid alone may have been given anew. Tools write there, too. */
function isDead(file: string): boolean {
  try {
    const [pid, started] = readRegular(file, 4096)?.bytes.toString("utf8").trim().split(" ") ?? [];
    return pid !== undefined && startTime(Number(pid)) !== started;
  } catch {
    return false;
  }
}
