/** Facts about a directory, for templates. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

/** PRIME_CWD, PRIME_PLATFORM (Node's name), PRIME_IS_GIT_REPO (true, false), PRIME_DATE (YYYY-MM-DD, local). */
export function prime(cwd: string, now = new Date()): Record<string, string> {
  const two = (n: number) => String(n).padStart(2, "0");
  return {
    PRIME_CWD: cwd,
    PRIME_PLATFORM: process.platform,
    PRIME_IS_GIT_REPO: String(inRepository(cwd)),
    PRIME_DATE: `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}`,
  };
}

function inRepository(dir: string): boolean {
  if (existsSync(join(dir, ".git"))) return true;
  return dir !== dirname(dir) && inRepository(dirname(dir));
}
