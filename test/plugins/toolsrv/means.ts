/** What toolsrv starts programs with, in the process of a test. */
import { loadLibc } from "#plugins/toolsrv";
import { children } from "../../../plugins/toolsrv/server/children.ts";
import type { Means } from "../../../plugins/toolsrv/server/spawn.ts";

let made: Means | undefined;

/** Undefined: koffi is not there. */
export async function means(): Promise<Means | undefined> {
  const { libc } = await loadLibc();
  if (libc) made ??= { libc, children: children(libc) };
  return made;
}
