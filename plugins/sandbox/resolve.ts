/** From a profile to rules: real paths that exist, and none that would let a tool change what confines it. */
import { join } from "node:path";
import { configDir, dataDir, packageRoot } from "#core";
import { expandPath, identityOf, lstatOf, type PlaceholderContext, realPath } from "./paths.ts";
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
  const wanted = [...profile.paths].map(([written, mode]) => ({
    ...{ written, mode },
    paths: expanding(written, context, fail).map((path) => ({ path, real: realPath(path) })),
  }));
  const guarded = guard(context, elsewhere(wanted));
  const steered = steering(
    context,
    wanted.flatMap(({ mode, paths }) => (canWrite(mode) ? paths : [])),
  );
  for (const { written, mode, paths } of wanted) {
    const led = paths.filter(steered(written));
    for (const { path, real } of led)
      notes.push(`${written} (${path}) is left out: a link that tools can make leads to ${real}`);
    const expanded = paths.filter((one) => !led.includes(one));
    const there = expanded.flatMap(({ real }) => real ?? []);
    if (there.length < Math.max(1 - led.length, expanded.length)) missing.push(written);
    for (const { path, real } of expanded) if (real !== path && isLink(path)) links.push({ path, target: real ?? "" });
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
  if (agent !== undefined) context.sight?.saw(agent);
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

const isLink = (path: string): boolean => lstatOf(path)?.isSymbolicLink() ?? false;

function expanding(written: string, context: PlaceholderContext, fail: (what: string) => Error): string[] {
  try {
    const paths = expandPath(written, context);
    for (const path of paths) context.sight?.saw(path);
    return paths;
  } catch (error) {
    throw fail((error as Error).message);
  }
}

interface Found {
  path: string;
  /** Undefined: nothing is there. */
  real: string | undefined;
}

/**
 * Tells the paths that lead where a tool wants: what lies in a folder that tools write has to stay in it, and what was resolved before
 * is what it was. Else a link in place of `{CWD}/build`, or of the working directory, would grant what it leads to.
 */
function steering({ cwd }: PlaceholderContext, writable: readonly Found[]) {
  const resolved = ["{CWD}", "{GITDIR}"];
  const roots = [...writable, { path: cwd, real: cwd }];
  return (written: string) =>
    ({ path, real }: Found): boolean =>
      real !== undefined &&
      ((resolved.includes(written) && real !== path) ||
        roots.some(
          (root) => path !== root.path && isInside(path, root.path) && !isInside(real, root.real ?? root.path),
        ));
}

/** What calls with another working directory are granted, too: by its names, and where they lead. */
const elsewhere = (wanted: readonly { written: string; paths: readonly Found[] }[]): string[] =>
  wanted
    .filter(({ written }) => !/\{(CWD|GITDIR|TMPDIR)\}/.test(written))
    .flatMap(({ paths }) => paths.flatMap(({ path, real }) => [path, real ?? path]));

function grantsOf(modes: ReadonlyMap<string, Mode>): Grant[] {
  const grants: Grant[] = [];
  for (const [path, mode] of modes) {
    const id = identityOf(path);
    if (id !== undefined) grants.push({ path, mode, id });
  }
  return grants.sort((a, b) => (a.path < b.path ? -1 : 1));
}

interface Verdict {
  fault?: string;
  /** It is granted all the same, but like this. */
  instead?: Mode;
}

/** Nothing has deny rules here: what must not be granted must not lie below anything that is. */
function guard(
  context: PlaceholderContext,
  others: readonly string[],
): (path: string, mode: Mode, written: string) => Verdict {
  const { env, toolDirs, tmp, sight } = context;
  const real = (path: string) => {
    sight?.saw(path);
    return realPath(path) ?? path;
  };
  const config = real(configDir(env));
  const writable = [real(join(configDir(env), "memory")), real(tmp)];
  const own = real(packageRoot());
  const kept = [config, real(dataDir(env)), ...toolDirs.map(real), own];
  const secrets = [join(config, "env"), real(join(config, "env"))];
  return (path, mode, written) => {
    const secret = secrets.find((file) => isInside(file, path));
    if (secret !== undefined) return { fault: `${written} (${path}) holds ${secret}, which no tool may read` };
    if (!canWrite(mode) || writable.some((dir) => isInside(path, dir))) return {};
    const readOnly = (fault: string): Verdict => ({
      fault: `${fault}: it is read only`,
      instead: mode === "rw" ? "ro" : "rox",
    });
    const held = kept.find((dir) => isInside(dir, path) || isInside(path, dir));
    if (held !== undefined) {
      const fault = `${written} (${path}) ${isInside(held, path) ? "holds" : "lies in"} ${held}, which no tool may write`;
      // The usual first try is in ollie's own folder, and there is much to see there.
      const looks = kept.every((dir) => dir === own || isInside(dir, own) || !isInside(dir, path));
      return written === "{CWD}" && looks ? readOnly(fault) : { fault };
    }
    // A tool could put a link in its place, and calls elsewhere would be granted what that leads to.
    const granted = written.includes("{CWD}")
      ? others.find((other) => other !== path && isInside(other, path))
      : undefined;
    return granted === undefined
      ? {}
      : readOnly(`${written} (${path}) holds ${granted}, which tools elsewhere are granted`);
  };
}
