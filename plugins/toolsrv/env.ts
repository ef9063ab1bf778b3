/** The environment of tools: a whitelist, and never a key. */
import { isCredential } from "#plugins/sessions";

const exact = new Set("HOME USER LOGNAME PATH LANG LANGUAGE TERM COLORTERM TZ TMPDIR SHELL NAMESPACE".split(" "));
const prefixes = ["LC_", "XDG_", "OLLIE_"];

/** Nobody is there to answer: editors and pagers return at once, git asks for no password. A session may set others. */
export const unattended = {
  EDITOR: "true",
  VISUAL: "true",
  GIT_EDITOR: "true",
  GIT_PAGER: "cat",
  GIT_TERMINAL_PROMPT: "0",
  PAGER: "cat",
} as const;

/** What of `env` a tool may see. */
export function toolEnv(env: NodeJS.ProcessEnv): Record<string, string> {
  return pick(env, (name) => exact.has(name) || prefixes.some((prefix) => name.startsWith(prefix)));
}

/** The variables of a session, without credentials and names that no process can hold. */
export const sessionEnv = (env: Record<string, string>): Record<string, string> =>
  pick(env, (name) => name !== "" && !/[=\0]/.test(name));

function pick(env: NodeJS.ProcessEnv, wanted: (name: string) => boolean): Record<string, string> {
  const out: Record<string, string> = {};
  for (const [name, value] of Object.entries(env))
    if (value !== undefined && wanted(name) && !isCredential(name) && !value.includes("\0")) out[name] = value;
  return out;
}
