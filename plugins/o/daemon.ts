/** A connection to the daemon, which is started when none runs. */
import { spawn } from "node:child_process";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Client, connect } from "#core/client";

/** Milliseconds that a daemon which says that it runs may take until it answers. */
const patience = 10_000;

export interface Daemon {
  client: Client;
  /** It ran before: its environment is not ours. */
  ranBefore: boolean;
}

/** `env` is for a daemon that is started. Throws Error with what it said when it does not start. */
export async function reachDaemon(say: (text: string) => void, env: NodeJS.ProcessEnv): Promise<Daemon> {
  const running = await tryConnect();
  if (running !== undefined) return { client: running, ranBefore: true };
  say("starting the daemon");
  await startDaemon(env);
  for (const end = Date.now() + patience; ; await sleep(20)) {
    const client = await tryConnect();
    if (client !== undefined) return { client, ranBefore: false };
    if (Date.now() > end) throw new Error("the daemon started but does not answer: see `olliesrv status`");
  }
}

/** Undefined where nobody listens. */
async function tryConnect(): Promise<Client | undefined> {
  try {
    return await connect();
  } catch (error) {
    const code = (error as { cause?: NodeJS.ErrnoException }).cause?.code;
    if (code === "ENOENT" || code === "ECONNREFUSED") return undefined;
    throw error;
  }
}

/** `olliesrv start` returns when the daemon has detached; what it said is the reason when it did not. */
function startDaemon(env: NodeJS.ProcessEnv): Promise<void> {
  const program = join(dirname(fileURLToPath(import.meta.url)), "core/bin/olliesrv.js");
  const child = spawn(process.execPath, [program, "start"], { env, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  child.stdout.on("data", (bytes) => {
    said += bytes;
  });
  child.stderr.on("data", (bytes) => {
    said += bytes;
  });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    // `exit`, not `close`: the daemon may keep the pipes.
    child.on("exit", (code) => {
      child.stdout.destroy();
      child.stderr.destroy();
      const last = said.trimEnd().split("\n").slice(-8).join("\n");
      if (code === 0) resolve();
      else reject(new Error(`the daemon did not start:\n${last || `olliesrv start: exit status ${code}`}`));
    });
  });
}
