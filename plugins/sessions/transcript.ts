/** Transcripts: what `save` of a session's ctl leaves for people, `{transcript}/{YYYYMMDDTHHMMSS}-chat.md`. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { configDir, expandHome, makeDir } from "#core";

const folder = (): string => {
  const set = process.env.OLLIE_TRANSCRIPT_PATH;
  return set ? expandHome(set) : join(configDir(), "transcript");
};

/** Writes a new file, 0600, and gives its path. */
export async function writeTranscript(text: string, at = new Date()): Promise<string> {
  const dir = folder();
  makeDir(dir);
  const stamp = at.toISOString().slice(0, 19).replace(/[-:]/g, "");
  for (let n = 1; ; n++) {
    const path = join(dir, `${stamp}-chat${n === 1 ? "" : `-${n}`}.md`);
    try {
      await writeFile(path, text, { flag: "wx", mode: 0o600 });
      return path;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
}
