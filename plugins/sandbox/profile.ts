/** A profile as it is written: YAML, every key checked. docs/security.md has the format. */
import { messageOf } from "#core";
import { type Mode, type Network, wider } from "./rules.ts";

export interface Profile {
  /** By what is written: placeholders and patterns are not expanded yet. */
  paths: Map<string, Mode>;
  unix: string[];
  /** Undefined: not said, which is none. */
  network: Network | undefined;
  /** Exact names of variables that pass besides the usual ones. */
  env: string[];
  sshAgent: boolean | undefined;
  unconfined: boolean | undefined;
  bestEffort: boolean | undefined;
  /** For landrun alone. */
  ldd: boolean | undefined;
  addExec: boolean | undefined;
}

type Fail = (what: string) => Error;
type Table = Record<string, unknown>;

const keys = {
  top: ["general", "filesystem", "network", "env", "ssh_agent", "unconfined", "advanced"],
  general: ["best_effort", "log_level"],
  filesystem: ["ro", "rox", "rw", "rwx", "unix"],
  network: ["connect", "bind", "enabled", "unrestricted", "connect_tcp", "bind_tcp"],
  advanced: ["ldd", "add_exec"],
};

/** `file` is named in errors. Throws Error with one sentence. An empty text is a profile that grants nothing. */
export async function parseProfile(text: string, file: string): Promise<Profile> {
  const fail: Fail = (what) => new Error(`sandbox profile ${file}: ${what}`);
  const { parse } = await import("yaml");
  let value: unknown;
  try {
    value = parse(text) ?? {};
  } catch (error) {
    throw fail(`broken YAML: ${messageOf(error).split("\n")[0]}`);
  }
  const top = table(value, "the file", keys.top, fail);
  const general = table(top.general, "general", keys.general, fail);
  const files = table(top.filesystem, "filesystem", keys.filesystem, fail);
  const advanced = table(top.advanced, "advanced", keys.advanced, fail);
  const paths = new Map<string, Mode>();
  for (const mode of ["ro", "rox", "rw", "rwx"] as const)
    for (const path of strings(files[mode], `filesystem.${mode}`, fail))
      paths.set(path, wider(mode, paths.get(path) ?? mode));
  return {
    paths,
    unix: strings(files.unix, "filesystem.unix", fail),
    network: networkOf(top.network, fail),
    env: strings(top.env, "env", fail).map((name) => {
      if (/^[A-Za-z_]\w*$/.test(name)) return name;
      throw fail(`env: "${name}" is not the name of a variable (exact names, no patterns)`);
    }),
    sshAgent: flag(top.ssh_agent, "ssh_agent", fail),
    unconfined: flag(top.unconfined, "unconfined", fail),
    bestEffort: flag(general.best_effort, "general.best_effort", fail),
    ldd: flag(advanced.ldd, "advanced.ldd", fail),
    addExec: flag(advanced.add_exec, "advanced.add_exec", fail),
  };
}

function table(value: unknown, name: string, known: readonly string[], fail: Fail): Table {
  if (value === undefined || value === null) return {};
  if (typeof value !== "object" || Array.isArray(value)) throw fail(`${name} must be keys with values`);
  for (const key of Object.keys(value))
    if (!known.includes(key)) throw fail(`${name} has an unknown key "${key}" (keys: ${known.join(" ")})`);
  return value as Table;
}

function strings(value: unknown, name: string, fail: Fail): string[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value) || value.some((item) => typeof item !== "string" || item === ""))
    throw fail(`${name} must be a list of texts`);
  return value;
}

function flag(value: unknown, name: string, fail: Fail): boolean | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "boolean") throw fail(`${name} must be true or false`);
  return value;
}

function networkOf(value: unknown, fail: Fail): Network | undefined {
  if (value === undefined || value === null) return undefined;
  if (value === "none" || value === "unrestricted") return value;
  if (typeof value === "string") throw fail('network must be "none", "unrestricted", or connect and bind with ports');
  const net = table(value, "network", keys.network, fail);
  if (flag(net.unrestricted, "network.unrestricted", fail)) return "unrestricted";
  const ports = (...names: string[]): number[] =>
    [...new Set(names.flatMap((name) => portsOf(net[name], `network.${name}`, fail)))].sort((a, b) => a - b);
  const given = { connect: ports("connect", "connect_tcp"), bind: ports("bind", "bind_tcp") };
  const enabled = flag(net.enabled, "network.enabled", fail) ?? given.connect.length + given.bind.length > 0;
  return enabled ? given : "none";
}

function portsOf(value: unknown, name: string, fail: Fail): number[] {
  if (value === undefined || value === null) return [];
  const ports = Array.isArray(value) ? value.map(Number) : [];
  if (!Array.isArray(value) || ports.some((port) => !Number.isInteger(port) || port < 0 || port > 65535))
    throw fail(`${name} must be a list of ports`);
  return ports;
}

/** `over` on top of `base`: paths, sockets and variables add up, the more permissive wins; anything else that it says replaces. */
export function mergeProfiles(base: Profile, over: Profile): Profile {
  const paths = new Map(base.paths);
  for (const [path, mode] of over.paths) paths.set(path, wider(mode, paths.get(path) ?? mode));
  return {
    paths,
    unix: union(base.unix, over.unix),
    env: union(base.env, over.env),
    network: over.network ?? base.network,
    sshAgent: over.sshAgent ?? base.sshAgent,
    unconfined: over.unconfined ?? base.unconfined,
    bestEffort: over.bestEffort ?? base.bestEffort,
    ldd: over.ldd ?? base.ldd,
    addExec: over.addExec ?? base.addExec,
  };
}

const union = (a: readonly string[], b: readonly string[]): string[] => [...new Set([...a, ...b])];
