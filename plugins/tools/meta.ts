/** Reads tools from disk: one parser for daemon and toolsrv. */
import type { BadTool, Tool } from "./types.ts";

export function toolDirs(_env: NodeJS.ProcessEnv): string[] {
  return [];
}

export function readTools(_dirs: readonly string[]): { tools: Tool[]; bad: BadTool[] } {
  return { tools: [], bad: [] };
}
