/** Every tool on disk. Each look costs a few stats; a file is parsed again only when it changed. */
import { readdirSync, readFileSync, type Stats, statSync } from "node:fs";
import { basename, join } from "node:path";
import { searchPath } from "#core";
import { isName, MetaFault, makeTool, parseMeta } from "./meta.ts";
import type { BadTool, Tool, Tools } from "./types.ts";

const maxMeta = 1 << 20;

/** What the last parse gave, and the marks of the file that it came from. */
interface Parsed {
  mark: string;
  raw?: Record<string, unknown>;
  reason?: string;
  /** What was made of it, and the marks of its programs then. */
  made?: { tool: Tool; mark: string };
}

type Cache = Map<string, Parsed>;

const stamp = (stat: Stats): string => `${stat.ino} ${stat.size} ${stat.mtimeMs} ${stat.ctimeMs}`;

/** Where tools are looked for, first wins: OLLIE_TOOLS_PATH (a colon list) or {cfg}/tools, then the package's own. */
export const toolDirs = (env: NodeJS.ProcessEnv): string[] => searchPath("tools", env);

/** A registry over `dirs()`, which is asked at each look. Folders that do not exist are skipped. */
export function registry(dirs: () => string[], env: NodeJS.ProcessEnv): Tools {
  const cache: Cache = new Map();
  const look = () => scan(dirs(), env, cache);
  return {
    list: () => look().tools,
    get: (name) => find(name, dirs(), env, cache),
    bad: () => look().bad,
    dirs,
  };
}

/** Reads all tools of `dirs`, first wins; sorted by name. */
export const readTools = (dirs: readonly string[], env = process.env): { tools: Tool[]; bad: BadTool[] } =>
  scan(dirs, env, new Map());

function scan(dirs: readonly string[], env: NodeJS.ProcessEnv, cache: Cache): { tools: Tool[]; bad: BadTool[] } {
  const tools = new Map<string, Tool>();
  const bad: BadTool[] = [];
  const seen = new Set<string>();
  for (const dir of dirs)
    for (const entry of metaFiles(dir)) {
      const file = join(dir, entry);
      seen.add(file);
      const name = basename(entry, ".meta");
      if (tools.has(name)) continue;
      const parsed = load(file, cache);
      try {
        if (parsed.raw === undefined) bad.push({ file, reason: parsed.reason ?? "unreadable" });
        else tools.set(name, toolOf(file, parsed, parsed.raw, env));
      } catch (error) {
        if (!(error instanceof MetaFault)) throw error;
        bad.push({ file, reason: error.message });
      }
    }
  for (const file of cache.keys()) if (!seen.has(file)) cache.delete(file);
  const sorted = [...tools.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  return { tools: sorted, bad };
}

/** The same object as long as nothing changed: what is derived from a tool can be kept beside it. */
function toolOf(file: string, parsed: Parsed, raw: Record<string, unknown>, env: NodeJS.ProcessEnv): Tool {
  // Variants look at more of the host than the program.
  if (raw.variants !== undefined) return makeTool(file, raw, env);
  const known = parsed.made;
  if (known && stampOf(known.tool) === known.mark) return known.tool;
  delete parsed.made;
  const tool = makeTool(file, raw, env);
  // A program that is missing may come, and nothing of the tool would tell.
  if (raw.command === undefined || tool.command) parsed.made = { tool, mark: stampOf(tool) };
  return tool;
}

/** Of the files that a tool is run from. */
function stampOf({ exec, command }: Tool): string {
  const files = [exec, command?.[0]].filter((file) => file !== undefined);
  return files.map(stampAt).join("\n");
}

/** Empty: nothing is there, or it is out of reach. */
function stampAt(file: string): string {
  try {
    return stamp(statSync(file));
  } catch {
    return "";
  }
}

/** Looks at the files of that name alone. */
function find(name: string, dirs: readonly string[], env: NodeJS.ProcessEnv, cache: Cache): Tool | undefined {
  if (!isName(name)) return undefined;
  for (const dir of dirs) {
    const file = join(dir, `${name}.meta`);
    const parsed = load(file, cache);
    try {
      if (parsed.raw) return toolOf(file, parsed, parsed.raw, env);
    } catch (error) {
      if (!(error instanceof MetaFault)) throw error;
    }
  }
  return undefined;
}

function metaFiles(dir: string): string[] {
  try {
    return readdirSync(dir)
      .filter((name) => name.endsWith(".meta") && !name.startsWith("."))
      .sort();
  } catch {
    return [];
  }
}

function load(file: string, cache: Cache): Parsed {
  let parsed: Parsed;
  try {
    const stat = statSync(file, { throwIfNoEntry: false });
    if (!stat) {
      cache.delete(file);
      return { mark: "", reason: "it is not there" };
    }
    const mark = stamp(stat);
    const known = cache.get(file);
    if (known?.mark === mark) return known;
    if (!stat.isFile()) parsed = { mark, reason: "not a regular file" };
    else if (stat.size > maxMeta) parsed = { mark, reason: `larger than ${maxMeta} bytes` };
    else parsed = parse(mark, readFileSync(file, "utf8"));
  } catch (error) {
    parsed = { mark: "", reason: (error as Error).message };
  }
  cache.set(file, parsed);
  return parsed;
}

function parse(mark: string, content: string): Parsed {
  try {
    return { mark, raw: parseMeta(content) };
  } catch (error) {
    return { mark, reason: (error as Error).message };
  }
}
