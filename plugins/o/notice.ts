/** What is said before the first prompt: which backend and why, and whether tools are fenced in. */
import type { Client } from "#core/client";
import type { StartOptions } from "./args.ts";
import type { Place } from "./session.ts";

/** Variables that choose a backend. A daemon that runs already does not see ours. */
const choosing = /^(OLLIE_(BACKEND|MODEL|[A-Z]+_(KEY|URL))|(ANTHROPIC|OPENAI|OPENROUTER|GEMINI)_API_KEY)$/;

/** `script (no key is set)` and the like, from the file backends. */
export async function backendLine(client: Client, place: Place, options: StartOptions): Promise<string> {
  const line = `backend ${place.backend}, model ${place.model}`;
  if (options.session !== undefined) return line;
  if (options.backend !== undefined) return `${line} (asked for with --backend)`;
  const marked = (await client.read("backends"))
    .toString()
    .split("\n")
    .find((row) => row.startsWith("* "));
  const why = marked?.split("\t").at(-1);
  return why === undefined ? line : `${line} (${why})`;
}

/** A sentence where the daemon was started without a setting that is set here; else undefined. */
export function unseenSettings(place: Place, ranBefore: boolean, env: NodeJS.ProcessEnv): string | undefined {
  const ours = Object.keys(env).filter((name) => choosing.test(name) && env[name]);
  if (!ranBefore || place.backend !== "script" || ours.length === 0 || env.OLLIE_BACKEND === "script") return undefined;
  return `the daemon was started before ${ours.join(", ")} was set here and does not see it: put it into ~/.config/ollie/env, or stop the daemon (olliesrv stop) and start again`;
}

/** Whether the session's tools run without a sandbox. */
export async function isUnsandboxed(client: Client, session: string): Promise<boolean> {
  const text = (await client.read(`session/${session}/sandbox`)).toString();
  return /^provider=off$/m.test(text);
}

export const unsandboxedLine = "tools run without a sandbox: what the model runs, runs with your rights";
