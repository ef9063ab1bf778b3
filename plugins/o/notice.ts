/** What is said before the first prompt: which backend and why, and whether tools are fenced in. */
import { dirname } from "node:path";
import type { Client } from "#core/client";
import type { StartOptions } from "./args.ts";
import type { Place } from "./session.ts";

/** The folder of ollie: this runs as its dist/o.js. */
const own = dirname(import.meta.dirname);

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

export interface SandboxNotice {
  /** What tools may do here, one sentence. */
  line: string;
  /** They run with the user's rights. */
  off: boolean;
}

/** From the session's file `sandbox`. */
export async function sandboxNotice(client: Client, { session, cwd }: Place): Promise<SandboxNotice> {
  const text = (await client.read(`session/${session}/sandbox`)).toString();
  const value = (key: string): string => new RegExp(`^${key}=(.*)$`, "m").exec(text)?.[1] ?? "";
  const state = value("sandbox");
  if (state === "on" || state === "partial")
    return {
      line: `tools run in a sandbox (${value("provider")}, profile ${value("profile")}): ${reach(cwd)}`,
      off: false,
    };
  if (state === "missing") return { line: `tools do not run: there is no sandbox (${value("reason")})`, off: false };
  return { line: "tools run without a sandbox: what the model runs, runs with your rights", off: true };
}

/** A first try is often made in ollie's own folder, which no tool may write. */
function reach(cwd: string): string {
  if (!isInside(cwd, own) && !isInside(own, cwd)) return "they change this folder alone";
  return `they change nothing here, where ollie itself is (in another folder: npm --prefix ${own} start)`;
}

const isInside = (path: string, dir: string): boolean => `${path}/`.startsWith(dir === "/" ? dir : `${dir}/`);
