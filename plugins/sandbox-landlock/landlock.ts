/** One Landlock ruleset from resolved rules (landlock(7)): files, TCP ports and scopes together, because rulesets that are stacked lose REFER. */
import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { realPathOf } from "#core";
import type { Mode, Rules } from "#plugins/sandbox";
import type { Native } from "./native.ts";

// linux/landlock.h
const EXECUTE = 1 << 0;
const WRITE_FILE = 1 << 1;
const READ_FILE = 1 << 2;
const READ_DIR = 1 << 3;
const REMOVE_DIR = 1 << 4;
const REMOVE_FILE = 1 << 5;
const MAKE_DIR = 1 << 7;
const MAKE_REG = 1 << 8;
const MAKE_SOCK = 1 << 9;
const MAKE_FIFO = 1 << 10;
const MAKE_SYM = 1 << 12;
const REFER = 1 << 13;
const TRUNCATE = 1 << 14;
const IOCTL_DEV = 1 << 15;
const RESOLVE_UNIX = 1 << 16;

const BIND_TCP = 1;
const CONNECT_TCP = 2;
const SCOPE_ABSTRACT_SOCKETS = 1;
const SCOPE_SIGNALS = 2;

const PATH_BENEATH = 1;
const NET_PORT = 2;

const read = READ_FILE | READ_DIR;
const change =
  WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | MAKE_SOCK | MAKE_FIFO | MAKE_SYM | REFER | TRUNCATE;
const rights: Record<Mode, number> = {
  ro: read,
  rox: read | EXECUTE,
  rw: read | change | IOCTL_DEV,
  rwx: read | change | IOCTL_DEV | EXECUTE,
};
/** All that a rule on something else than a folder may hold: others are EINVAL there. */
const ofFiles = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV | RESOLVE_UNIX;

/** What a version of Landlock can restrict in the file system. */
function handledBy(abi: number): number {
  if (abi < 2) return 0x1fff;
  if (abi < 3) return 0x3fff;
  if (abi < 5) return 0x7fff;
  return abi < 9 ? 0xffff : 0x1ffff;
}

/** What of `rules` a kernel with this version leaves open, for people. */
export function lostBelow(abi: number, rules: Pick<Rules, "network">): string[] {
  if (abi === 0) return ["files, network and signals are not confined (this kernel has no Landlock)"];
  const lost: [number, string][] = [
    [2, "every rename and link from one folder to another is refused"],
    [3, "files outside can be truncated"],
    [5, "ioctl on devices is not confined"],
    [6, "processes and abstract sockets outside can be reached"],
  ];
  if (typeof rules.network === "object") lost.push([4, "TCP ports are not confined"]);
  return lost.filter(([since]) => abi < since).map(([since, what]) => `${what} (Landlock ${since} is needed)`);
}

/** Stays open on every kernel that there is, for people. */
export function stillOpen(abi: number, rules: Pick<Rules, "network">): string[] {
  return [
    ...(abi > 0 && abi < 9 ? ["sockets in the file system can be connected to (Landlock 9 is needed)"] : []),
    "names, sizes, owners and times of files outside can be read and, for your own files, their modes and times changed",
    ...(typeof rules.network === "object" ? ["UDP is not confined to ports"] : []),
  ];
}

/**
 * The ruleset as a descriptor. Throws where a path was replaced since it was resolved; what is missing by now is left out,
 * which only takes rights away.
 */
export function buildRuleset(native: Native, abi: number, rules: Rules): number {
  const files = handledBy(abi);
  const ports = typeof rules.network === "object" && abi >= 4 ? rules.network : undefined;
  const attributes = Buffer.alloc(abi >= 6 ? 24 : abi >= 4 ? 16 : 8);
  attributes.writeBigUInt64LE(BigInt(files), 0);
  if (abi >= 4) attributes.writeBigUInt64LE(BigInt(ports ? BIND_TCP | CONNECT_TCP : 0), 8);
  if (abi >= 6) attributes.writeBigUInt64LE(BigInt(SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS), 16);
  const ruleset = native.createRuleset(attributes);
  try {
    for (const { path, mode, id } of rules.grants) addPath(native, ruleset, path, rights[mode] & files, id);
    if (abi >= 9) for (const path of rules.unix) addPath(native, ruleset, path, RESOLVE_UNIX);
    for (const port of ports?.bind ?? []) addPort(native, ruleset, BIND_TCP, port);
    for (const port of ports?.connect ?? []) addPort(native, ruleset, CONNECT_TCP, port);
    return ruleset;
  } catch (error) {
    native.close(ruleset);
    throw error;
  }
}

const O_PATH = 0o10000000;

function addPath(native: Native, ruleset: number, path: string, wanted: number, id?: string): void {
  let fd: number;
  try {
    fd = openSync(path, O_PATH | constants.O_NOFOLLOW);
  } catch {
    return;
  }
  try {
    const stat = fstatSync(fd, { bigint: true });
    // A folder above it may be a link by now, which is followed.
    if ((id && id !== `${stat.dev}:${stat.ino}`) || (id !== undefined && (realPathOf(fd) ?? path) !== path))
      throw new Error(`${path} was replaced while the sandbox was made, run the call again`);
    const allowed = stat.isDirectory() ? wanted : wanted & ofFiles;
    if (allowed === 0) return;
    // struct landlock_path_beneath_attr is packed.
    const rule = Buffer.alloc(12);
    rule.writeBigUInt64LE(BigInt(allowed), 0);
    rule.writeInt32LE(fd, 8);
    native.addRule(ruleset, PATH_BENEATH, rule);
  } finally {
    closeSync(fd);
  }
}

function addPort(native: Native, ruleset: number, right: number, port: number): void {
  const rule = Buffer.alloc(16);
  rule.writeBigUInt64LE(BigInt(right), 0);
  rule.writeBigUInt64LE(BigInt(port), 8);
  native.addRule(ruleset, NET_PORT, rule);
}
