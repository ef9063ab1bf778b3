/** One call's confinement, in the terms of what enforces it: words around toolsrv, rules for its threads, words before a command. */
import { dirname } from "node:path";
import { packageRoot } from "#core";
import { bwrapWords, hookFolders, landrunWords, mayWrite, nodeDirs, type Rules, rulesInside } from "#plugins/sandbox";
import { type Confinement, type Isolation, lostHere } from "./isolation.ts";
import type { ToolRequest } from "./types.ts";

export interface Confined {
  confinement: Confinement;
  env: Record<string, string>;
  /** Before the command that starts toolsrv. */
  around: string[];
  /** What the paths in there lead to now: inside, they lead there for good, whatever takes their place. */
  bound?: string;
  /** For a spawner thread. */
  rules?: Rules;
  /** Before the tool's own command. */
  wrap?: string[];
}

interface Options {
  isolation?: Isolation | undefined;
  entry: string;
  toolDirs: () => string[];
}

/** What was made of a confinement, which is the same object as long as nothing that counts has changed. */
const made = new WeakMap<Confinement, { hooks: string; confined: Confined }>();

/** Undefined: nothing is confined here. Rejects with one sentence where the call must not run. */
export async function confine(
  options: Options,
  { cwd, profiles, sandbox: flag }: Pick<ToolRequest, "cwd" | "profiles" | "sandbox">,
  tmp: string,
  namespace: string | undefined,
): Promise<Confined | undefined> {
  const confinement = await options.isolation?.confine({ cwd, tmp, profiles, flag, namespace });
  if (!confinement) return undefined;
  // A tool may have made a repository since.
  const folders = confinement.found.provider === "bwrap" ? hookFolders(confinement.rules) : [];
  const hooks = folders.join("\0");
  const known = made.get(confinement);
  if (known?.hooks === hooks) return known.confined;
  const confined = enforcing(confinement, options, folders);
  made.set(confinement, { hooks, confined });
  return confined;
}

function enforcing(confinement: Confinement, { entry, toolDirs }: Options, hooks: readonly string[]): Confined {
  const { found, rules, env } = confinement;
  const plain = { confinement, env, around: [] };
  if (rules.unconfined) return plain;
  if (found.provider === "landlock") return { ...plain, rules };
  const lost = lostHere(found, rules);
  if (!rules.bestEffort && lost.length > 0)
    throw new Error(`sandbox profile ${rules.profile}: ${found.provider} can not enforce it (${lost[0]})`);
  const { program = found.provider ?? "" } = found;
  if (mayWrite(rules, program))
    throw new Error(`sandbox: ${program} lies where tools may write, so it confines nothing`);
  if (found.provider === "landrun") return { ...plain, wrap: [program, ...landrunWords(rules).slice(1)] };
  const own = [packageRoot(), dirname(entry), ...nodeDirs(), ...toolDirs(), "/usr", "/lib", "/lib64"];
  const unshareNetwork = found.landlock === 0 && rules.network === "none";
  const [, ...words] = bwrapWords(rules, { own, unshareNetwork, hooks });
  const bound = rules.grants.map(({ id }) => id).join(" ");
  return { ...plain, around: [program, ...words], bound, ...(found.landlock > 0 ? { rules: rulesInside(rules) } : {}) };
}
