/** Rights never grow: what an agent makes may do no more than the agent itself. */
import { realpathSync } from "node:fs";
import { configDir, NineError, packageRoot } from "#core";
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

/** What is ollie's own, and the user's config, no agent writes, wherever it works. */
function isWritten(file: string, makers: readonly Runtime[]): boolean {
  if ([packageRoot(), configDir()].some((dir) => isInside(file, dir))) return false;
  return makers.some(({ cwd }) => isInside(file, cwd));
}

/** The sandbox profiles that bound what `creator` makes. Fixed when that is made: it stays bound when its creator is gone. */
export function boundsBelow({ bounds, config: { sandbox } }: Runtime): string[] {
  if (sandbox !== undefined) return [...bounds, sandbox];
  return bounds.length > 0 ? [...bounds] : [""];
}

/** The sandbox profiles of an agent's calls, each no wider than the one before. */
export const profilesOf = ({ bounds, config: { sandbox } }: Runtime): string[] => [...bounds, sandbox ?? ""];

/**
 * The prompt of a config that agents may have made: its file lies where one of `makers` works. Undefined: a person made it. It is
 * the text itself, and there is nothing beside it that runs commands or widens rights. Throws NineError.
 */
export function plainPrompt(what: string, config: AgentConfig, makers: readonly Runtime[]): string | undefined {
  const { file, name, prompt, widening = [] } = config;
  if (file === undefined || !isWritten(realpathSync.native(file), makers)) return undefined;
  const commands = Array.isArray(prompt) || prompt?.trimStart().startsWith("!");
  const keys = [...widening, ...(commands ? ["a prompt of commands"] : [])];
  if (keys.length > 0)
    throw new NineError(`${what}: config ${name} lies where agents write: it may not have ${keys.join(", ")}`);
  return typeof prompt === "string" ? prompt.trim() : "";
}
