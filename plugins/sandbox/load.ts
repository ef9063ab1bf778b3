/** Finds profiles: the package's, the user's over them, a trusted project's on top. A change counts at the next call. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { configDir, isTrusted, messageOf, packageRoot, type Regular, readRegular } from "#core";
import { mergeProfiles, type Profile, parseProfile } from "./profile.ts";
import type { Sight } from "./sight.ts";

/** What a project grants itself. It counts while it is as the user trusted it, no matter what a tool writes into it. */
export const overlayName = ".ollie-sandbox.yaml";

export interface Loaded {
  profile: Profile;
  /** Where it was read from. */
  files: string[];
  /** For people: a project's file that does not count. */
  notes: string[];
}

export interface ProfileStore {
  /** Throws Error with one sentence: no such profile, or a file that is wrong. */
  load(name: string, cwd: string, sight?: Sight): Promise<Loaded>;
}

const stockDir = (): string => join(packageRoot(), "data", "sandbox");

export function profileStore(env: NodeJS.ProcessEnv): ProfileStore {
  const parsed = new Map<string, { text: string; profile: Profile }>();
  const read = async (file: string, text = textOf(file)): Promise<Profile | undefined> => {
    if (text === undefined) return undefined;
    const known = parsed.get(file);
    if (known?.text === text) return known.profile;
    const profile = await parseProfile(text, file);
    parsed.set(file, { text, profile });
    return profile;
  };
  return {
    async load(name, cwd, sight) {
      if (!/^[A-Za-z0-9_-]{1,64}$/.test(name))
        throw new Error(`sandbox profile "${name}" can not be: a name has 1 to 64 letters, digits, _ or -`);
      const own = join(configDir(env), "sandbox");
      const layers: [string, Profile][] = [];
      for (const dir of [stockDir(), own]) {
        const file = join(dir, `${name}.yaml`);
        sight?.saw(file, true);
        const profile = await read(file);
        if (profile) layers.push([file, profile]);
      }
      if (layers.length === 0)
        throw new Error(`there is no sandbox profile "${name}" (profiles: ${profileNames([stockDir(), own])})`);
      const notes: string[] = [];
      sight?.saw(join(configDir(env), "trusted"), true);
      const overlay = findUp(overlayName, cwd, sight);
      if (overlay && "fault" in overlay) notes.push(`${overlay.fault}: it does not count`);
      // What was compared is what counts: the file may be another a moment later.
      else if (overlay && isTrusted(overlay, env))
        layers.push([overlay.real, (await read(overlay.real, overlay.bytes.toString("utf8"))) as Profile]);
      else if (overlay) notes.push(`${overlay.real} does not count until you trust it: olliesrv trust ${overlay.real}`);
      const [first, ...rest] = layers.map(([, profile]) => profile);
      return {
        profile: rest.reduce(mergeProfiles, first as Profile),
        files: layers.map(([file]) => file),
        notes,
      };
    },
  };
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new Error(`sandbox profile ${file} can not be read (${code})`);
  }
}

function profileNames(dirs: readonly string[]): string {
  const names = dirs.flatMap((dir) => {
    try {
      return readdirSync(dir).flatMap((file) => /^([A-Za-z0-9_-]{1,64})\.yaml$/.exec(file)?.[1] ?? []);
    } catch {
      return [];
    }
  });
  return [...new Set(names)].sort().join(" ") || "none";
}

/** The first of that name in `from`, a real path, and above it. Tools write there: what is no file must not hold us up. */
function findUp(name: string, from: string, sight: Sight | undefined): Regular | { fault: string } | undefined {
  for (let dir = from; ; dir = dirname(dir)) {
    sight?.saw(join(dir, name), true);
    try {
      const found = readRegular(join(dir, name));
      // Else a tool could make what another project is trusted with its own.
      if (found && found.real !== join(dir, name)) return { fault: `${join(dir, name)} is a link to ${found.real}` };
      if (found) return found;
    } catch (error) {
      return { fault: messageOf(error) };
    }
    if (dir === dirname(dir)) return undefined;
  }
}
