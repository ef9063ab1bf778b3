/** What a spare shell reads to become a program: one command group, so that nothing of it runs before all is there. */

/** What a shell needs to become it. */
export interface Command {
  exec: string;
  argv: readonly string[];
  env: Readonly<Record<string, string>>;
  cwd: string;
}

/** Names that a shell exports as they are, and gives no meaning of its own. */
const plain =
  /^(?!(?:UID|EUID|PPID|GROUPS|SHELLOPTS|BASH.*|OPT.*|LINENO|FUNCNAME|IFS|PS\d|ENV|CDPATH|MAIL.*)$)[A-Za-z_]\w*$/;

/** The variables that a shell can be started with and passes on. */
export const plainEnv = ({ env }: Command): Record<string, string> =>
  Object.fromEntries(Object.entries(env).filter(([name]) => plain.test(name)));

/** The words to start it: variables that a shell would drop or take for itself are set by env(1). */
export function wordsOf({ exec, argv, env }: Command): string[] {
  const others = Object.entries(env).filter(([name]) => !plain.test(name));
  const set = others.map(([name, value]) => `${name}=${value}`);
  return [...(set.length > 0 ? ["/usr/bin/env", "--", ...set] : []), exec, ...argv];
}

/** No text of it holds a NUL: no process could be started with one, and a script ends there. */
export const canTell = ({ exec, argv, env, cwd }: Command): boolean =>
  [exec, cwd, ...argv, ...Object.values(env)].every((text) => !text.includes("\0"));

/** `drop`: variables that the shell has itself and that are not the program's. Descriptor 3 is where the script comes from. */
export function scriptOf(command: Command, drop: readonly string[]): string {
  const { env, cwd } = command;
  const exports = Object.entries(plainEnv(command)).map(([name, value]) => `${name}=${quote(value)}`);
  const gone = [...drop, "PWD", "OLDPWD"].filter((name) => !Object.hasOwn(env, name));
  return [
    "{",
    `cd -- ${quote(cwd)} || exit 126`,
    ...(gone.length > 0 ? [`unset ${gone.join(" ")}`] : []),
    ...(exports.length > 0 ? [`export ${exports.join(" ")}`] : []),
    `exec ${wordsOf(command).map(quote).join(" ")} 3<&-`,
    "}\n",
  ].join("\n");
}

/** A word that means itself: inside single quotes nothing but the quote has a meaning. */
const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
