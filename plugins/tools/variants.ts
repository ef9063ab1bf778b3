/** Variants of a tool: the first whose conditions hold on this host decides. */
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { expandHome } from "#core";

export const conditionKeys = ["binary", "file", "os", "arch", "env", "nenv"] as const;
type Condition = (typeof conditionKeys)[number];
export type Conditions = Partial<Record<Condition, string[]>>;

/** Every condition must hold. Of several values all must hold, but for `os` and `arch`: there one is enough. */
export function holds(conditions: Conditions, env: NodeJS.ProcessEnv): boolean {
  const set = (name: string) => (env[name] ?? "") !== "";
  const all = (key: Condition, test: (value: string) => boolean) => (conditions[key] ?? []).every(test);
  const some = (key: Condition, value: string) => conditions[key]?.includes(value) ?? true;
  return (
    all("binary", (name) => onPath(name, env) !== undefined) &&
    all("file", (path) => existsSync(expandHome(path, env))) &&
    all("env", set) &&
    all("nenv", (name) => !set(name)) &&
    some("os", process.platform) &&
    some("arch", process.arch)
  );
}

/** Where a program is: `name` as it is where it is an absolute path, else the first on PATH. */
export function onPath(name: string, env: NodeJS.ProcessEnv): string | undefined {
  const places = isAbsolute(name) ? [name] : (env.PATH ?? "").split(delimiter).filter(isAbsolute);
  return places.map((place) => (place === name ? name : join(place, name))).find(isExecutable);
}

/** A regular file that this user may run. */
export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
