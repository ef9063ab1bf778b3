/** Wishes that creation and later changes share. */
import { realpathSync, statSync } from "node:fs";
import { isAbsolute } from "node:path";
import { expandHome, NineError } from "#core";
import type { AgentConfig } from "#plugins/agent-config";
import type { Tools } from "#plugins/tools";

/** An existing directory, `~` expanded, links resolved. Throws NineError. */
export function checkCwd(what: string, given: string): string {
  const path = expandHome(given);
  if (!isAbsolute(path)) throw new NineError(`${what}: cwd ${JSON.stringify(given)} must start with / or ~`);
  const stat = statSync(path, { throwIfNoEntry: false });
  if (!stat) throw new NineError(`${what}: cwd ${JSON.stringify(given)} does not exist`);
  if (!stat.isDirectory()) throw new NineError(`${what}: cwd ${JSON.stringify(given)} is not a directory`);
  return realpathSync.native(path);
}

/** Tools that an agent of this config starts with: those of autoLoad, or all where it names none. */
export function firstTools(all: Tools, { tools, autoLoad, allowTools, disallowTools }: AgentConfig): string[] {
  if (!tools) return [];
  const names = all.list().map((tool) => tool.name);
  const wanted = autoLoad.length > 0 ? autoLoad.filter((name) => names.includes(name)) : names;
  return wanted.filter(
    (name) => !disallowTools.includes(name) && (allowTools === undefined || allowTools.includes(name)),
  );
}
