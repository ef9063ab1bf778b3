/** bubblewrap: everything that is not granted is not there. It holds the whole tool server, with Landlock inside of it. */
import { dirname, join } from "node:path";
import { lstatOf } from "./paths.ts";
import { canWrite, type Grant, isInside, type Rules } from "./rules.ts";

const base = ["--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL"];

/**
 * Runs nothing, as confined as can be: it succeeds where bwrap works. It does not die with its parent: a bwrap that is
 * killed while it sets up leaves its child waiting for it for ever, and a probe bears no mark by which it is found.
 */
export const bwrapProbe = ["bwrap", ...base, "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "true"];

export interface BwrapOptions {
  /** Paths that the program itself needs, besides what the rules grant. */
  own: readonly string[];
  /** Without network: only where nothing inside can do better. */
  unshareNetwork: boolean;
  /** Default: as they are now. */
  hooks?: readonly string[];
}

/** The words before a command that is to run inside. */
export function bwrapWords(rules: Rules, { own, unshareNetwork, hooks = hookFolders(rules) }: BwrapOptions): string[] {
  const grants = effective([...own.map((path): Grant => ({ path, mode: "rox", id: "" })), ...rules.grants]);
  const binds = grants.flatMap(({ path, mode }) => [canWrite(mode) ? "--bind-try" : "--ro-bind-try", path, path]);
  const shown = (path: string) => grants.some((grant) => isInside(path, grant.path));
  return [
    "bwrap",
    ...[...base, "--die-with-parent"],
    ...(unshareNetwork ? ["--unshare-net"] : []),
    ...["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/run"],
    ...binds,
    ...rules.unix.flatMap((path) => ["--ro-bind-try", path, path]),
    ...hooks.flatMap((dir) => ["--ro-bind-try", dir, dir]),
    ...rules.links.filter(({ path }) => !shown(path)).flatMap(({ path, target }) => ["--symlink", target, path]),
    ...["--chdir", "/", "--"],
  ];
}

/** The rules for what is inside: /tmp is its own, and its /dev is another one. */
export function rulesInside(rules: Rules): Rules {
  const grants = rules.grants.map((grant) => (isVirtual(grant.path) ? { ...grant, id: "" } : grant));
  return { ...rules, grants: [...grants.filter(({ path }) => path !== "/tmp"), { path: "/tmp", mode: "rwx", id: "" }] };
}

const isVirtual = (path: string): boolean => isInside(path, "/dev") || isInside(path, "/proc");

/** Parents first; what a parent shows in the same way is left out. */
function effective(grants: readonly Grant[]): Grant[] {
  const sorted = grants.filter(({ path }) => !isVirtual(path)).sort((a, b) => (a.path < b.path ? -1 : 1));
  const kept: Grant[] = [];
  for (const grant of sorted) {
    const above = kept.filter(({ path }) => isInside(grant.path, path));
    if (above.every(({ mode }) => canWrite(grant.mode) && !canWrite(mode))) kept.push(grant);
  }
  return kept;
}

/**
 * What stays read only below what is writable: a tool that writes there has others run its programs, with the next commit. Never
 * a mount point that is not there: it would be made, and a worktree's `.git` is a file.
 */
export const hookFolders = ({ grants }: Pick<Rules, "grants">): string[] =>
  grants
    .filter(({ mode, path }) => canWrite(mode) && isFolder(path))
    .flatMap(({ path }) => [join(path, ".git", "hooks"), join(path, "hooks")])
    .filter((dir) => isFolder(dir) && isFolder(join(dirname(dir), "objects")));

const isFolder = (path: string): boolean => lstatOf(path)?.isDirectory() ?? false;
