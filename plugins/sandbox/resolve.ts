/** From a profile to rules: real paths that exist, and none that would let a tool change what confines it. */
import { lstatSync, statSync } from "node:fs";
import { join } from "node:path";
import { configDir, dataDir, packageRoot } from "#core";
import { expandPath, type PlaceholderContext, realPath } from "./paths.ts";
import type { Profile } from "./profile.ts";
import { canWrite, type Grant, isInside, type Mode, type Rules, wider } from "./rules.ts";

/** Throws Error with one sentence where the profile may not be used here. */
export function resolveRules(name: string, profile: Profile, context: PlaceholderContext): Rules {
  const fail = (what: string) => new Error(`sandbox profile ${name}: ${what}`);
  const notes: string[] = [];
  const missing: string[] = [];
  const warnings: string[] = [];
  const links: Rules["links"] = [];
  const modes = new Map<string, Mode>();
  const guarded = guard(context);
  for (const [written, mode] of profile.paths) {
    const expanded = expanding(written, context, fail);
    const there = expanded.flatMap((path) => realPath(path) ?? []);
    if (there.length < Math.max(1, expanded.length)) missing.push(written);
    for (const path of expanded)
      if (realPath(path) !== path && isLink(path)) links.push({ path, target: realPath(path) ?? "" });
    for (const path of there) {
      const { fault, instead } = guarded(path, mode, written);
      if (fault !== undefined && instead === undefined) throw fail(fault);
      if (fault !== undefined) warnings.push(fault);
      const given = instead ?? mode;
      modes.set(path, wider(given, modes.get(path) ?? given));
    }
  }
  const unix = profile.unix.flatMap((written) => {
    const there = expanding(written, context, fail).flatMap((path) => realPath(path) ?? []);
    if (there.length === 0) notes.push(`socket ${written} is not there`);
    return there;
  });
  const agent = profile.sshAgent ? context.env.SSH_AUTH_SOCK : undefined;
  const socket = agent === undefined ? undefined : realPath(agent);
  if (profile.sshAgent && socket === undefined) notes.push("ssh_agent: SSH_AUTH_SOCK leads nowhere");
  return {
    profile: name,
    unconfined: profile.unconfined ?? false,
    bestEffort: profile.bestEffort ?? false,
    grants: grantsOf(modes),
    network: profile.network ?? "none",
    unix: [...new Set([...unix, ...(socket === undefined ? [] : [socket])])].sort(),
    links,
    landrun: { ldd: profile.ldd ?? false, addExec: profile.addExec ?? false },
    warnings,
    notes: missing.length > 0 ? [...notes, `not there: ${missing.join(", ")}`] : notes,
  };
}

const isLink = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;

function expanding(written: string, context: PlaceholderContext, fail: (what: string) => Error): string[] {
  try {
    return expandPath(written, context);
  } catch (error) {
    throw fail((error as Error).message);
  }
}

function grantsOf(modes: ReadonlyMap<string, Mode>): Grant[] {
  const grants: Grant[] = [];
  for (const [path, mode] of modes) {
    const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
    if (stat) grants.push({ path, mode, id: `${stat.dev}:${stat.ino}` });
  }
  return grants.sort((a, b) => (a.path < b.path ? -1 : 1));
}

interface Verdict {
  fault?: string;
  /** It is granted all the same, but like this. */
  instead?: Mode;
}

/** Nothing has deny rules here: what must not be granted must not lie below anything that is. */
function guard(context: PlaceholderContext): (path: string, mode: Mode, written: string) => Verdict {
  const { env, toolDirs, tmp } = context;
  const real = (path: string) => realPath(path) ?? path;
  const config = real(configDir(env));
  const writable = [real(join(configDir(env), "memory")), real(tmp)];
  const own = real(packageRoot());
  const kept = [config, real(dataDir(env)), ...toolDirs.map(real), own];
  const secrets = [join(config, "env"), real(join(config, "env"))];
  return (path, mode, written) => {
    const secret = secrets.find((file) => isInside(file, path));
    if (secret !== undefined) return { fault: `${written} (${path}) holds ${secret}, which no tool may read` };
    if (!canWrite(mode) || writable.some((dir) => isInside(path, dir))) return {};
    const held = kept.find((dir) => isInside(dir, path) || isInside(path, dir));
    if (held === undefined) return {};
    const fault = `${written} (${path}) ${isInside(held, path) ? "holds" : "lies in"} ${held}, which no tool may write`;
    // The usual first try is in ollie's own folder, and there is much to see there.
    if (written === "{CWD}" && kept.every((dir) => dir === own || isInside(dir, own) || !isInside(dir, path)))
      return { fault: `${fault}: it is read only`, instead: mode === "rw" ? "ro" : "rox" };
    return { fault };
  };
}
