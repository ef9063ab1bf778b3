/** landrun, a program that confines one command with Landlock. It passes on no variables but those that it is told to. */
import type { Mode, Rules } from "./rules.ts";

/** The words before a command, the last is `--`: `--env NAME` goes before that for each variable which the command gets. */
export function landrunWords(rules: Rules): string[] {
  const grants = [...rules.grants].sort((a, b) => a.path.length - b.path.length || (a.path < b.path ? -1 : 1));
  return [
    "landrun",
    ...(rules.bestEffort ? ["--best-effort"] : []),
    ...(rules.landrun.ldd ? ["--ldd"] : []),
    ...(rules.landrun.addExec ? ["--add-exec"] : []),
    ...grants.flatMap(({ path, mode }) => [`--${mode satisfies Mode}`, path]),
    ...network(rules),
    "--",
  ];
}

function network({ network }: Rules): string[] {
  if (network === "unrestricted") return ["--unrestricted-network"];
  if (network === "none") return [];
  return [
    ...network.bind.flatMap((port) => ["--bind-tcp", String(port)]),
    ...network.connect.flatMap((port) => ["--connect-tcp", String(port)]),
  ];
}

/** Runs nothing: it succeeds where landrun and the kernel work together. */
export const landrunProbe = ["landrun", "--best-effort", "--rox", "/", "--", "true"];

/** Variables that would change the program which confines, before it does. */
export const steersLoader = (name: string): boolean => /^(LD_|GO|GLIBC_TUNABLES$)/.test(name);
