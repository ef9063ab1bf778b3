/** Caches of package managers: where a tool may not write the usual folder, the session has one of its own. */
import { accessSync, constants } from "node:fs";
import { dirname, join } from "node:path";

interface Cache {
  variable: string;
  /** Where it is when the variable is not set; undefined: nobody knows. */
  usual(env: Readonly<Record<string, string>>): string | undefined;
}

const inHome =
  (path: string): Cache["usual"] =>
  ({ HOME }) =>
    HOME ? join(HOME, path) : undefined;

// Go's build cache follows XDG_CACHE_HOME, pip's and many others do too.
const caches: Cache[] = [
  { variable: "XDG_CACHE_HOME", usual: inHome(".cache") },
  { variable: "npm_config_cache", usual: inHome(".npm") },
  { variable: "CARGO_HOME", usual: inHome(".cargo") },
  {
    variable: "GOMODCACHE",
    usual: (env) => (env.GOPATH ? join(env.GOPATH.split(":")[0] ?? "", "pkg/mod") : inHome("go/pkg/mod")(env)),
  },
];

/** Variables for `env` that lead those caches to `dir` which may not be written. `granted` says what may. */
export function cacheEnv(
  env: Readonly<Record<string, string>>,
  dir: string,
  granted: (path: string) => boolean = isWritable,
): Record<string, string> {
  const steered = caches.filter(({ variable, usual }) => {
    const place = env[variable] || usual(env);
    return place === undefined || !granted(place);
  });
  return Object.fromEntries(steered.map(({ variable }) => [variable, join(dir, variable.toLowerCase())]));
}

/** Whether it can be written, or made. */
export function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch (error) {
    const up = dirname(path);
    return (error as NodeJS.ErrnoException).code === "ENOENT" && up !== path && isWritable(up);
  }
}
