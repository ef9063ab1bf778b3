/** Confines the calling thread for good, and proves it. Everything that it will need must have been loaded before. */
import { closeSync, openSync, readdirSync, readSync } from "node:fs";
import type { Rules } from "#plugins/sandbox";
import { buildRuleset, lostBelow } from "./landlock.ts";
import type { Native } from "./native.ts";
import { type Arch, filter } from "./seccomp.ts";

/** Throws with one sentence; the thread must not start anything then. `keep` as in the filter's options. */
export function confine(native: Native, rules: Rules, keep: readonly number[]): void {
  const abi = native.abi();
  const lost = lostBelow(abi, rules);
  if (!rules.bestEffort && lost.length > 0) throw new Error(`this kernel can not confine it: ${lost[0]}`);
  if (process.arch !== "x64" && process.arch !== "arm64")
    throw new Error(`there is no system call filter for ${process.arch}`);
  const program = filter({ network: networkOf(rules), keep, arch: process.arch satisfies Arch });
  const ruleset = abi > 0 ? buildRuleset(native, abi, rules) : undefined;
  // Opened before: afterwards it may be out of reach.
  const status = openSync("/proc/thread-self/status", "r");
  try {
    native.dropCapabilities();
    native.noNewPrivileges();
    if (ruleset !== undefined) {
      native.restrict(ruleset);
      native.close(ruleset);
    }
    native.installFilter(program);
    prove(status, rules, ruleset !== undefined);
  } finally {
    closeSync(status);
  }
}

const networkOf = ({ network }: Rules): "none" | "tcp" | "open" =>
  network === "none" ? "none" : network === "unrestricted" ? "open" : "tcp";

/** Looks at what the kernel says of this thread, and tries what must fail now. */
function prove(status: number, rules: Rules, files: boolean): void {
  const text = Buffer.alloc(8192);
  const lines = text.toString("latin1", 0, readSync(status, text, 0, text.length, 0));
  for (const line of ["NoNewPrivs:\t1", "Seccomp:\t2", "CapEff:\t0000000000000000"])
    if (!lines.includes(`\n${line}\n`))
      throw new Error(`self-test failed: the thread has not ${line.replace("\t", " ")}`);
  if (!files || rules.grants.some(({ path }) => path === "/")) return;
  try {
    readdirSync("/");
  } catch {
    return;
  }
  throw new Error("self-test failed: the root folder can be read, which no rule allows");
}
