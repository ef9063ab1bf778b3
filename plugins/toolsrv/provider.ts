/** Which program or kernel feature confines tools here. Told by trying, not by what is installed. */
import { spawn } from "node:child_process";
import { accessSync, constants, readFileSync, realpathSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
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
  /** The program that was tried, where it is one: another that PATH leads to later does not count. */
  program?: string;
}

export interface ProbeOptions {
  env: NodeJS.ProcessEnv;
  /** koffi is hidden: what needs it can not be used. */
  native: boolean;
  /** Whether AppArmor restricts user namespaces. Default: as this system says. */
  restricted?: () => boolean;
}

/** Rejects where the system could not start what is tried, for now. */
export async function findProvider(wanted: Wanted, options: ProbeOptions): Promise<Found> {
  if (wanted === "none") return { provider: "none", why: "it was asked for", landlock: 0 };
  const version = options.native ? await landlockVersion() : "koffi is not there";
  const landlock = typeof version === "number" ? version : 0;
  const programs = { bwrap: programIn(options.env, "bwrap"), landrun: programIn(options.env, "landrun") };
  const tries: Record<Exclude<Provider, "none">, () => Promise<string | undefined>> = {
    landlock: async () => (typeof version === "number" ? undefined : version),
    bwrap: async () => hinted(await runs(programs.bwrap, bwrapProbe, options.env), options),
    landrun: () => runs(programs.landrun, landrunProbe, options.env),
  };
  const order = wanted === "auto" ? (["bwrap", "landlock", "landrun"] as const) : [wanted];
  const faults: string[] = [];
  for (const provider of order) {
    const fault = await tries[provider]();
    if (fault === undefined) {
      const first = ["the first that works here", ...faults].join("; ");
      const program = provider === "landlock" ? undefined : programs[provider];
      return {
        ...{ provider, why: wanted === "auto" ? first : "it was asked for" },
        landlock: provider === "landrun" ? 0 : landlock,
        ...(program === undefined ? {} : { program }),
      };
    }
    faults.push(`${provider}: ${fault}`);
  }
  return { provider: undefined, why: faults.join("; "), landlock: 0 };
}

/** Its real path; undefined: it is not in PATH. */
function programIn({ PATH = "/usr/bin:/bin" }: NodeJS.ProcessEnv, name: string): string | undefined {
  for (const dir of PATH.split(delimiter).filter(isAbsolute)) {
    try {
      const path = realpathSync(join(dir, name));
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // not there
    }
  }
  return undefined;
}

/** Ubuntu since 23.10: who is no process of root's needs AppArmor's leave to make a user namespace. */
function hinted(fault: string | undefined, { restricted = appArmorRestricts }: ProbeOptions): string | undefined {
  if (fault === undefined || fault === notInstalled || !restricted()) return fault;
  return `${fault} (AppArmor keeps user namespaces from it: give bwrap a profile, see docs/security.md)`;
}

function appArmorRestricts(): boolean {
  try {
    return readFileSync("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "utf8").trim() === "1";
  } catch {
    return false;
  }
}

const notInstalled = "it is not installed";

/** What the next try may not meet: it says nothing of the program. */
const passing = new Set(["EMFILE", "ENFILE", "EAGAIN", "ENOMEM"]);

/** Undefined: it ran. Else what it said. Rejects where it could not be tried now. */
function runs(
  program: string | undefined,
  [, ...args]: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  if (program === undefined) return Promise.resolve(notInstalled);
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      env: { PATH: env.PATH ?? "/usr/bin:/bin" },
      stdio: ["ignore", "ignore", "pipe"],
      timeout: 5000,
      killSignal: "SIGKILL",
    });
    let said = "";
    child.on("error", (error: NodeJS.ErrnoException) =>
      passing.has(error.code ?? "") ? reject(error) : resolve(error.message),
    );
    // without a descriptor that is left there is none
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-1000);
    });
    child.on("close", (code, signal) => {
      if (code === 0) return resolve(undefined);
      resolve(said.trim().split("\n").at(-1) || (signal ? `it was ended by ${signal}` : `exit status ${code}`));
    });
  });
}
