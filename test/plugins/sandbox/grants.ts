import { realpathSync, statSync } from "node:fs";
import type { Grant, Mode } from "#plugins/sandbox";

/** A grant as it is resolved; none where the path is not there. */
export function grant(path: string, mode: Mode): Grant[] {
  try {
    const real = realpathSync.native(path);
    const { dev, ino } = statSync(real, { bigint: true });
    return [{ path: real, mode, id: `${dev}:${ino}` }];
  } catch {
    return [];
  }
}
