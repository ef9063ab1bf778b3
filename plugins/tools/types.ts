/** What others may import of plugin tools. */
import { token } from "#core";
import type { ToolScope } from "#plugins/scheduler";

/** A JSON Schema with `type: "object"`. */
export interface ArgsSchema {
  type: "object";
  properties?: Record<string, Record<string, unknown>>;
  required?: string[];
  [key: string]: unknown;
}

/** One tool on disk: an executable or a command line, and its `.meta`. */
export interface Tool {
  name: string;
  description: string;
  /** How to use it, for the model, given when the tool is loaded. */
  prompt?: string;
  args: ArgsSchema;
  scope: ToolScope;
  /** The argument that names the file which a `write` tool changes. Default: the first of file_path, path. */
  pathArg?: string;
  /** Other names that models use for an argument, to its real name. */
  aliases?: Record<string, string>;
  tier: "hot" | "warm" | "cold";
  readOnly: boolean;
  /** Fence language of its output in chat.raw. */
  outputFormat?: string;
  /** Its output goes to the model as it is: escapes and carriage returns are content, not a terminal's progress. */
  exact: boolean;
  sudo: boolean;
  /** Seconds; 0: none. Default 30. */
  timeout: number;
  /** Absolute path of the executable beside the .meta. Undefined: there is only `command`. */
  exec: string | undefined;
  /**
   * A program of the host that is run in place of `exec` where the arguments fit on a command line, and the words before
   * them: [absolute path, word…]. Undefined: there is none, or this host does not have it.
   */
  command?: readonly [string, ...string[]];
  /** Absolute path of its .meta. */
  meta: string;
}

/** A file that was refused, and why. */
export interface BadTool {
  file: string;
  reason: string;
}

export interface Tools {
  /** Every usable tool, sorted by name. Looks at the disk again when script or .meta changed. */
  list(): Tool[];
  get(name: string): Tool | undefined;
  bad(): BadTool[];
  /** The directories searched, first wins. */
  dirs(): string[];
}

export const Tools = token<Tools>("tools");

export { type CheckedArgs, checkArgs, offeredArgs } from "./args.ts";
export { readTools, registry, toolDirs } from "./registry.ts";
export { isExecutable } from "./variants.ts";
