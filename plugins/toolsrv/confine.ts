/** One call's confinement, in the terms of what enforces it: words around toolsrv, rules for its threads, words before a command. */
import { dirname } from "node:path";
import { packageRoot } from "#core";
import { bwrapWords, landrunWords, mayWrite, nodeDirs, type Rules, rulesInside } from "#plugins/sandbox";
import { type Confinement, type Isolation, lostHere } from "./isolation.ts";
import type { ToolRequest } from "./types.ts";

export interface Confined {
  confinement: Confinement;
  env: Record<string, string>;
  /** Before the command that starts toolsrv. */
  around: string[];
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

/** Undefined: nothing is confined here. Rejects with one sentence where the call must not run. */
export async function confine(
  { isolation, entry, toolDirs }: Options,
  { cwd, profiles, sandbox: flag }: Pick<ToolRequest, "cwd" | "profiles" | "sandbox">,
  tmp: string,
  namespace: string | undefined,
): Promise<Confined | undefined> {
  if (!isolation) return undefined;
  const confinement = await isolation.confine({ cwd, tmp, profiles, flag, namespace });
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
  const [, ...words] = bwrapWords(rules, { own, unshareNetwork: found.landlock === 0 && rules.network === "none" });
  return { ...plain, around: [program, ...words], ...(found.landlock > 0 ? { rules: rulesInside(rules) } : {}) };
}
