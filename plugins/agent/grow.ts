/** Rights never grow: what an agent makes may do no more than the agent itself. */
import { realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { configDir, dataDir, NineError, packageRoot } from "#core";
import type { AgentConfig } from "#plugins/agent-config";
import { limits } from "./limits.ts";
import type { Runtime } from "./runtime.ts";

/** Whether `path` is the folder `above` or lies in it. Both are absolute, their links resolved. */
const isInside = (path: string, above: string): boolean => `${path}/`.startsWith(above === "/" ? "/" : `${above}/`);

/**
 * Checks a new agent against the one that makes it. Throws NineError. Plugins check what they know of (bypass policy) in a
 * tap of `agentSpawn`, which may block.
 */
export function checkChild(what: string, cwd: string, creator: Runtime): void {
  if (creator.depth >= limits.generations)
    throw new NineError(`${what}: agents that agents make are at most ${limits.generations} deep`);
  if (!isInside(cwd, creator.cwd))
    throw new NineError(`${what}: cwd ${JSON.stringify(cwd)} is outside of its creator's, ${creator.cwd}`);
}

const real = (path: string): string => {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
};

/**
 * Whether agents that work in `folders` may have put the config where it was found: it lies there, or its name leads through there, as
 * a link of theirs would. What is ollie's own, and the user's config, no agent writes, wherever it works.
 */
function isWritten({ file, real: place = "" }: AgentConfig, folders: readonly string[]): boolean {
  const [config, memory] = [real(configDir()), real(join(configDir(), "memory"))];
  if (isInside(place, packageRoot()) || (isInside(place, config) && !isInside(place, memory))) return false;
  const named: string[] = [];
  for (let at = file ?? "/"; at !== dirname(at); at = dirname(at)) named.push(real(at));
  return [...folders, memory, real(dataDir())].some((dir) => [place, ...named].some((path) => isInside(path, dir)));
}

/** The sandbox profiles that bound what `creator` makes. Fixed when that is made: it stays bound when its creator is gone. */
export function boundsBelow({ bounds, sandbox }: Pick<Runtime, "bounds" | "sandbox">): string[] {
  if (sandbox !== "") return [...bounds, sandbox];
  return bounds.length > 0 ? [...bounds] : [""];
}

/** The sandbox profiles of an agent's calls, each no wider than the one before. */
export const profilesOf = ({ bounds, sandbox }: Pick<Runtime, "bounds" | "sandbox">): string[] => [...bounds, sandbox];

/** Where those work that may have written an agent's config. */
export const foldersOf = (rt: Runtime): string[] => rt.deps.makers(rt).map(({ cwd }) => cwd);

/**
 * The prompt of a config that agents may have made, or changed: its file lies where they work, in one of `folders`. Undefined: a
 * person made it, or trusts it as it is. It is the text itself, and there is nothing beside it that runs commands or widens
 * rights. Throws NineError.
 */
export function plainPrompt(what: string, config: AgentConfig, folders: readonly string[]): string | undefined {
  const { file, name, prompt, trusted, widening = [] } = config;
  if (file === undefined || trusted || !isWritten(config, folders)) return undefined;
  const commands = Array.isArray(prompt) || prompt?.trimStart().startsWith("!");
  const keys = [...widening, ...(commands ? ["a prompt of commands"] : [])];
  if (keys.length > 0)
    throw new NineError(
      `${what}: config ${name} lies where agents write: it may not have ${keys.join(", ")} (olliesrv trust ${file})`,
    );
  return typeof prompt === "string" ? prompt.trim() : "";
}
