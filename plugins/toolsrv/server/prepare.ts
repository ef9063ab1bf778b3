/** What a call needs before it runs: its tool, checked arguments, a directory that exists, an environment. */
import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { basename, delimiter, dirname, join } from "node:path";
import { mayWrite, type Rules, steersLoader } from "#plugins/sandbox";
import type { Tool, Tools } from "#plugins/tools";
import { checkArgs } from "#plugins/tools";
import { type CallBody, cookieVariable, sessionEnv, toolEnv, unattended } from "#plugins/toolsrv";
import { passArgs } from "./argv.ts";
import { cacheEnv, isWritable } from "./caches.ts";
import type { Job } from "./run.ts";

export type Prepared = { job: Job; exact: boolean } | { refused: string };

export function prepare(call: CallBody, tools: Tools, cookie: string, own = process.env): Prepared {
  const tool = tools.get(call.tool);
  if (!tool) return { refused: `there is no tool "${call.tool}"` };
  const checked = checkArgs(tool, call.args);
  if (!checked.ok) return { refused: checked.error };
  const cwdFault = directoryFault(call.cwd);
  if (cwdFault) return { refused: cwdFault };
  const { stdin, variable, argv, unfit } = passArgs(tool.args, checked.args);
  const started = commandLine(tool, argv);
  if (!started) return { refused: `the arguments ${unfit} the command line of ${tool.command?.[0]}` };
  const inherited = { ...unattended, ...toolEnv(own), PATH: withNode(own.PATH ?? "") };
  const ofSession = sessionEnv(call.env);
  const env: Record<string, string> = {
    ...inherited,
    ...cacheEnv({ ...inherited, ...ofSession }, join(call.sessionTmp, ".cache"), mayCache(call.rules)),
    ...ofSession,
    ...call.socket,
    PWD: call.cwd,
    TMPDIR: call.agentTmp,
    OLLIE_TMPDIR: call.sessionTmp,
    OLLIE_SESSION: call.sessionName,
    OLLIE_SESSION_ID: call.session,
    OLLIE_AGENT: call.agentName,
    OLLIE_AGENT_ID: call.agent,
    OLLIE_TOOLS_PATH: tools.dirs().join(":"),
    [cookieVariable]: cookie,
  };
  if (variable === undefined) delete env.OLLIE_TOOL_ARGS;
  else env.OLLIE_TOOL_ARGS = variable;
  const { wrap = [] } = call;
  // They would work on the program that confines, before it does.
  if (wrap.length > 0) for (const name of Object.keys(env)) if (steersLoader(name)) delete env[name];
  const [exec = "", ...words] = [...wrapped(wrap, env), ...started.words];
  return {
    exact: tool.exact,
    job: {
      ...{ exec, argv: words, env, cwd: call.cwd, timeout: call.timeout, cookie },
      ...(started.reads ? { stdin } : {}),
      // Programs begin what they report with their name.
      ...(exec === tool.command?.[0] ? { name: basename(exec) } : {}),
    },
  };
}

/** Its program and the words behind it. A script reads its arguments from stdin if it likes, a program of the host does not know them. */
function commandLine(
  { exec, command }: Tool,
  argv: string[] | undefined,
): { words: string[]; reads: boolean } | undefined {
  if (command && argv) return { words: [...command, ...argv], reads: false };
  return exec === undefined ? undefined : { words: [exec, ...(argv ?? [])], reads: true };
}

/** landrun passes on the variables that it is told to. */
const wrapped = (wrap: readonly string[], env: Record<string, string>): string[] =>
  wrap.flatMap((word) => (word === "--" ? [...Object.keys(env).flatMap((name) => ["--env", name]), word] : [word]));

const mayCache = (rules: Rules | undefined) => (path: string) =>
  (rules === undefined || mayWrite(rules, path)) && isWritable(path);

/**
 * Checked at every call: a spawn in a missing directory fails with a message that names the program instead. An agent's
 * directory was resolved when it was set: where a link stands in its path now, somebody put it there since.
 */
function directoryFault(cwd: string): string | undefined {
  const repair = "set another with `cwd DIR` in the agent's ctl";
  try {
    if (!statSync(cwd).isDirectory()) return `the working directory ${cwd} is not a directory, ${repair}`;
    accessSync(cwd, constants.X_OK);
    const real = realpathSync.native(cwd);
    if (real !== cwd) return `the working directory ${cwd} was replaced by a link to ${real}, ${repair}`;
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return `the working directory ${cwd} does not exist any more, create it or ${repair}`;
    return `the working directory ${cwd} can not be entered (${code}), ${repair}`;
  }
}

/** Stock tools are node scripts: where PATH has no node, the one that runs this is found last. */
function withNode(path: string): string {
  const parts = path.split(delimiter).filter((part) => part !== "");
  return [...new Set([...parts, dirname(process.execPath)])].join(delimiter);
}
