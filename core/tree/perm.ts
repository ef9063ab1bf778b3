/** Mode bits and `deny`. The bits of every class that the caller belongs to count together. */
import { NineError, Rerror } from "../errors.ts";
import { readable, writable } from "./build.ts";
import { contextFor } from "./call.ts";
import { gidOf, uidOf, type Vnode } from "./node.ts";
import type { Principal } from "./principal.ts";

export const readBit = 4;
export const writeBit = 2;
export const execBit = 1;

/** Whether the mode lets `principal` do all of `bits`. The daemon's user and what acts for it are not bound by modes. */
export function allowed(v: Vnode, principal: Principal, bits: number): boolean {
  if (principal.kind !== "agent") return true;
  const { mode } = v.spec;
  let has = mode & 7;
  const gid = gidOf(v);
  if (gid === principal.name || principal.groups.includes(gid)) has |= (mode >> 3) & 7;
  if (uidOf(v) === principal.name) has |= (mode >> 6) & 7;
  return (has & bits) === bits;
}

/** Throws NineError unless `principal` may open `v` so. */
export function checkOpen(v: Vnode, principal: Principal, read: boolean, write: boolean): void {
  if (!allowed(v, principal, (read ? readBit : 0) | (write ? writeBit : 0))) throw new NineError(Rerror.perm);
  // Modes do not bind the user, but what no handler does nobody can.
  if (v.spec.kind === "file" && ((read && !readable(v.spec.spec)) || (write && !writable(v.spec.spec))))
    throw new NineError(Rerror.perm);
  const deny = v.spec.kind === "file" ? v.spec.spec.deny : undefined;
  if (!deny || principal.kind === "user") return;
  const c = contextFor(v, {}, principal);
  for (const op of [...(read ? ["r" as const] : []), ...(write ? ["w" as const] : [])]) {
    const why = deny(principal, op, c);
    if (why !== undefined) throw refusal(why);
  }
}

/** What `deny` gave, as an error. Anything but text refuses too: a guard that is mistaken must not let through. */
export function refusal(why: unknown): Error {
  return typeof why === "string" ? new NineError(why) : new TypeError(`deny gave ${typeof why}, not text`);
}
