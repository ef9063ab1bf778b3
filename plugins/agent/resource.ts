/** Which file a `write` tool changes, under one spelling. */
import { realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { expandHome } from "#core";
import type { Tool } from "#plugins/tools";

/** The real path, or the inode of a file that has several; undefined where the arguments name no file: the call then runs alone. */
export function resourceOf(tool: Tool, args: Record<string, unknown>, cwd: string): string | undefined {
  if (tool.scope !== "write") return undefined;
  const keys = tool.pathArg ? [tool.pathArg] : ["file_path", "path"];
  const path = keys.map((key) => args[key]).find((value) => typeof value === "string" && value !== "");
  return typeof path === "string" ? fileAt(realPath(resolve(cwd, expandHome(path)))) : undefined;
}

function fileAt(real: string): string {
  try {
    const stat = statSync(real);
    return stat.nlink > 1 && stat.isFile() ? `inode ${stat.dev} ${stat.ino}` : real;
  } catch {
    return real;
  }
}

/** Resolves links of the part that exists: the file itself may be about to be made. */
function realPath(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    const above = dirname(path);
    return above === path ? path : join(realPath(above), basename(path));
  }
}
