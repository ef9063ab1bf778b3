/** From the `prompt` of an agent's config to its system prompt. */
import { readFile, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { messageOf, NineError } from "#core";
import { promptEnv } from "./env.ts";
import { run } from "./run.ts";
import type { PromptAt } from "./types.ts";

/**
 * A list: shell commands, whose outputs are joined by newlines, empty ones left out. One string, variables replaced: a
 * `!command`, the name of a file, or the text itself. Throws NineError: a prompt that fails is never an empty one.
 */
export async function render(prompt: string | readonly string[] | undefined, at: PromptAt): Promise<string> {
  if (prompt === undefined) return "";
  const { cwd, signal } = at;
  if (!(await stat(cwd).catch(() => undefined))?.isDirectory())
    throw new NineError(`prompt: the directory ${cwd} does not exist`);
  const env = promptEnv(at);
  if (typeof prompt === "string") return single(prompt, cwd, env, signal);
  const outputs: string[] = [];
  for (const command of prompt) if (command.trim() !== "") outputs.push(await run(command, { cwd, env, signal }));
  return outputs.filter((text) => text !== "").join("\n");
}

async function single(prompt: string, cwd: string, env: Record<string, string>, signal: AbortSignal): Promise<string> {
  const text = expand(prompt, env).trim();
  if (text === "" || text.includes("\n")) return text;
  if (text.startsWith("!")) return run(text.slice(1), { cwd, env, signal });
  const path = resolve(cwd, text);
  // a text of some length is no path: stat refuses it, and it is the prompt
  if (!(await stat(path).catch(() => undefined))?.isFile()) return text;
  try {
    return (await readFile(path, "utf8")).replace(/[\r\n]+$/, "");
  } catch (error) {
    throw new NineError(`prompt: file ${path} can not be read: ${messageOf(error)}`);
  }
}

/** `$NAME` and `${NAME}`; unset ones are empty. */
const expand = (text: string, env: Record<string, string>): string =>
  text.replace(/\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))/g, (_, braced, bare) => env[braced ?? bare] ?? "");
