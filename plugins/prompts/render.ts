/** From the `prompt` of an agent's config to its system prompt. */
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { messageOf, NineError, type Regular, readRegular } from "#core";
import type { Sockets } from "#plugins/identity";
import { promptEnv } from "./env.ts";
import { run } from "./run.ts";
import type { PromptAt } from "./types.ts";

/**
 * A list: shell commands, whose outputs are joined by newlines, empty ones left out. One string, variables replaced: a
 * `!command`, the name of a file, or the text itself. Throws NineError: a prompt that fails is never an empty one.
 */
export async function render(
  prompt: string | readonly string[] | undefined,
  at: PromptAt,
  sockets?: Sockets,
): Promise<string> {
  if (prompt === undefined) return "";
  const { cwd } = at;
  if (!(await stat(cwd).catch(() => undefined))?.isDirectory())
    throw new NineError(`prompt: the directory ${cwd} does not exist`);
  const env = promptEnv(at);
  const runCommand = (command: string) => runAt(command, at, env, sockets);
  if (typeof prompt === "string") return single(prompt, cwd, env, runCommand);
  const outputs: string[] = [];
  for (const command of prompt) if (command.trim() !== "") outputs.push(await runCommand(command));
  return outputs.filter((text) => text !== "").join("\n");
}

/** With a socket of its own, through which the command acts as a hook of `by`. */
async function runAt(command: string, at: PromptAt, env: Record<string, string>, sockets?: Sockets): Promise<string> {
  const { cwd, signal, by } = at;
  const socket = by && (await sockets?.command(by));
  if (!socket) return run(command, { cwd, env, signal });
  try {
    return await run(command, { cwd, env: { ...env, ...socket.env }, signal, onStart: socket.admit });
  } finally {
    await socket.close();
  }
}

async function single(
  prompt: string,
  cwd: string,
  env: Record<string, string>,
  runCommand: (command: string) => Promise<string>,
): Promise<string> {
  const text = expand(prompt, env).trim();
  if (text === "" || text.includes("\n")) return text;
  if (text.startsWith("!")) return runCommand(text.slice(1));
  const path = resolve(cwd, text);
  // a text of some length is no path: stat refuses it, and it is the prompt
  if (!(await stat(path).catch(() => undefined))?.isFile()) return text;
  return textOf(path, cwd).replace(/[\r\n]+$/, "");
}

/** Where an agent works it can put a link to what only the daemon may read. */
function textOf(path: string, cwd: string): string {
  const fail = (why: string) => new NineError(`prompt: file ${path} can not be read: ${why}`);
  let found: Regular | undefined;
  try {
    found = readRegular(path);
  } catch (error) {
    throw fail(messageOf(error));
  }
  if (!found) throw fail("it is gone");
  if (path.startsWith(`${cwd}/`) && !found.real.startsWith(`${cwd}/`))
    throw fail("it leads out of the working directory");
  return found.bytes.toString("utf8");
}

/** `$NAME` and `${NAME}`; unset ones are empty. */
const expand = (text: string, env: Record<string, string>): string =>
  text.replace(/\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))/g, (_, braced, bare) => env[braced ?? bare] ?? "");
