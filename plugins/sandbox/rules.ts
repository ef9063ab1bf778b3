/** What a tool may do, resolved: no placeholder, no pattern, no name that could mean something else a moment later. */

export type Mode = "ro" | "rox" | "rw" | "rwx";

export interface Grant {
  /** Absolute, without symbolic links. */
  path: string;
  mode: Mode;
  /** `device:inode` when it was resolved: rules bind to these, and a folder that was made anew is another one. Empty: any. */
  id: string;
}

/** `none`: no sockets but those of this machine's programs; ports: TCP to and on these alone, UDP is open. */
export type Network = "none" | "unrestricted" | { connect: number[]; bind: number[] };

export interface Rules {
  /** Name of the profile, for people. */
  profile: string;
  /** Nothing is confined: the profile says so, or whoever started the daemon. */
  unconfined: boolean;
  /** Go on with what the kernel can do. */
  bestEffort: boolean;
  /** Sorted by path, one for each. */
  grants: Grant[];
  network: Network;
  /** Sockets, or folders of them, that may be connected to, where the kernel or the provider can tell them apart. */
  unix: string[];
  /** Symbolic links by which granted paths are known, for a provider that shows nothing else. */
  links: { path: string; target: string }[];
  /** For landrun alone: it finds the libraries of the command, and the command, itself. */
  landrun: { ldd: boolean; addExec: boolean };
  /** What was left out, for people. */
  notes: string[];
  /** What whoever uses the tools must know to understand them. */
  warnings: string[];
}

/** No confinement at all. */
export const unconfinedRules = (profile: string, notes: string[]): Rules => ({
  profile,
  unconfined: true,
  bestEffort: false,
  grants: [],
  network: "unrestricted",
  unix: [],
  links: [],
  landrun: { ldd: false, addExec: false },
  notes,
  warnings: [],
});

const bits: Record<Mode, number> = { ro: 1, rox: 1 | 2, rw: 1 | 4, rwx: 1 | 2 | 4 };
const byBits: Record<number, Mode> = { 1: "ro", 3: "rox", 5: "rw", 7: "rwx" };

/** What both allow together. */
export const wider = (a: Mode, b: Mode): Mode => byBits[bits[a] | bits[b]] ?? "rwx";

export const canWrite = (mode: Mode): boolean => (bits[mode] & bits.rw) === bits.rw;

export const isInside = (path: string, dir: string): boolean =>
  path === dir || path.startsWith(dir.endsWith("/") ? dir : `${dir}/`);

/** Whether `rules` let a tool write there. `path` is a real path. */
export const mayWrite = (rules: Rules, path: string): boolean =>
  rules.unconfined || rules.grants.some((grant) => canWrite(grant.mode) && isInside(path, grant.path));

/** What `inner` allows and `outer` does not, one sentence; undefined: it is not wider. */
export function widerThan(inner: Rules, outer: Rules): string | undefined {
  if (outer.unconfined) return undefined;
  if (inner.unconfined) return "it confines nothing";
  for (const { path, mode } of inner.grants) {
    const covered = outer.grants
      .filter((grant) => isInside(path, grant.path))
      .reduce((sum, grant) => sum | bits[grant.mode], 0);
    if ((bits[mode] & ~covered) !== 0) return `it grants ${mode} on ${path}`;
  }
  for (const socket of inner.unix)
    if (!outer.unix.some((allowed) => isInside(socket, allowed))) return `it grants the socket ${socket}`;
  if (inner.bestEffort && !outer.bestEffort) return "it goes on where the kernel can not do all of it";
  return widerNetwork(inner.network, outer.network);
}

function widerNetwork(inner: Network, outer: Network): string | undefined {
  if (inner === "none" || outer === "unrestricted") return undefined;
  if (inner === "unrestricted") return "its network is unrestricted";
  if (outer === "none") return "it has a network";
  for (const verb of ["connect", "bind"] as const)
    for (const port of inner[verb]) if (!outer[verb].includes(port)) return `it may ${verb} to port ${port}`;
  return undefined;
}
