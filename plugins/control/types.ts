/** What others may import of plugin control. */
import { hook } from "#core";

/** What `invalidate` of the root's ctl may name. */
export const INVALIDATE = ["models", "tools", "agents"] as const;
export type Invalidate = (typeof INVALIDATE)[number];

/** Somebody wrote `invalidate` to /ctl: drop what is cached of `what`, or of everything where it is undefined. */
export const invalidate = hook.observe<[what: Invalidate | undefined]>("invalidate", {
  doc: "caches are to be dropped and files read again",
});

export { CTL_LINE, ctl, type Verb, type Verbs, verbHelp } from "./verbs.ts";
