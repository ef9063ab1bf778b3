/** Which program or kernel feature confines tools here. Told by trying, not by what is installed. */
import { spawn } from "node:child_process";
import { bwrapProbe, landrunProbe } from "#plugins/sandbox";
import { landlockVersion } from "#plugins/sandbox-landlock";

export const providers = ["landlock", "bwrap", "landrun", "none"] as const;
export type Provider = (typeof providers)[number];
export type Wanted = Provider | "auto";

export interface Found {
  /** Undefined: none that was wanted works. */
  provider: Provider | undefined;
  /** Why this one, or what is wrong with the others: one sentence. */
  why: string;
  /** Version of Landlock inside of it; 0: none. */
  landlock: number;
}

export interface ProbeOptions {
  env: NodeJS.ProcessEnv;
  /** koffi is hidden: what needs it can not be used. */
  native: boolean;
}

/** Never rejects. */
export async function findProvider(wanted: Wanted, options: ProbeOptions): Promise<Found> {
  if (wanted === "none") return { provider: "none", why: "it was asked for", landlock: 0 };
  const version = options.native ? await landlockVersion() : "koffi is not there";
  const landlock = typeof version === "number" ? version : 0;
  const tries: Record<Exclude<Provider, "none">, () => Promise<string | undefined>> = {
    landlock: async () => (typeof version === "number" ? undefined : version),
    bwrap: () => runs(bwrapProbe, options.env),
    landrun: () => runs(landrunProbe, options.env),
  };
  const order = wanted === "auto" ? (["bwrap", "landlock", "landrun"] as const) : [wanted];
  const faults: string[] = [];
  for (const provider of order) {
    const fault = await tries[provider]();
    if (fault === undefined)
      return {
        provider,
        why: wanted === "auto" ? "the first that works here" : "it was asked for",
        landlock: provider === "landrun" ? 0 : landlock,
      };
    faults.push(`${provider}: ${fault}`);
  }
  return { provider: undefined, why: faults.join("; "), landlock: 0 };
}

/** Undefined: it ran. Else what it said. */
function runs([program = "", ...args]: readonly string[], env: NodeJS.ProcessEnv): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      env: { PATH: env.PATH ?? "/usr/bin:/bin" },
      stdio: ["ignore", "ignore", "pipe"],
      timeout: 5000,
      killSignal: "SIGKILL",
    });
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-1000);
    });
    child.on("error", (error: NodeJS.ErrnoException) =>
      resolve(error.code === "ENOENT" ? "it is not installed" : error.message),
    );
    child.on("close", (code, signal) => {
      if (code === 0) return resolve(undefined);
      resolve(said.trim().split("\n").at(-1) || (signal ? `it was ended by ${signal}` : `exit status ${code}`));
    });
  });
}
