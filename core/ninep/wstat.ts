/** stat(5), Twstat: which changes are asked for, all or nothing. */
import { NineError, Rerror } from "../errors.ts";
import type { Stat } from "./codec.ts";

/**
 * The new name, or undefined when nothing is to be done. `mayWrite`: length 0 and mtime are accepted on a file that the
 * caller may write (`echo x > ctl` on Linux sends them). Throws NineError for any other field that would change.
 */
export function wstatName(asked: Stat, now: Stat, caller: string, mayWrite: () => boolean): string | undefined {
  const same = (value: number, current: number, untouched: number) => value === untouched || value === current;
  const text = (value: string, current: string) => value === "" || value === current;
  const fixed =
    same(asked.type, now.type, 0xffff) &&
    same(asked.dev, now.dev, 0xffffffff) &&
    same(asked.qid.type, now.qid.type, 0xff) &&
    same(asked.qid.vers, now.qid.vers, 0xffffffff) &&
    (asked.qid.path === now.qid.path || asked.qid.path === -1 || asked.qid.path >= Number.MAX_SAFE_INTEGER) &&
    same(asked.mode, now.mode, 0xffffffff) &&
    same(asked.atime, now.atime, 0xffffffff) &&
    text(asked.uid, now.uid) &&
    text(asked.gid, now.gid) &&
    (text(asked.muid, now.muid) || asked.muid === caller);
  if (!fixed) throw new NineError(Rerror.wstat);
  const cut = asked.length === 0 && now.length !== 0;
  if (asked.length !== -1 && asked.length !== now.length && !cut) throw new NineError(Rerror.wstat);
  const touches = cut || !same(asked.mtime, now.mtime, 0xffffffff);
  if (touches && !mayWrite()) throw new NineError(Rerror.perm);
  return text(asked.name, now.name) ? undefined : asked.name;
}
