/** Names of sessions and agents. */
import { NineError } from "#core";

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Throws NineError unless `name` is 1 to 64 characters with no `/`, control character or leading dot, not `new`, `idx` or a UUID. */
export function checkName(name: string, what: string): string {
  const bad = (why: string) => new NineError(`${what}: name ${JSON.stringify(name.slice(0, 40))} ${why}`);
  if (name === "") throw bad("is empty");
  if ([...name].length > 64) throw bad("is longer than 64 characters");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
  if (/[/\u0000-\u001f\u007f]/.test(name)) throw bad('holds "/" or a control character');
  if (name.startsWith(".")) throw bad("starts with a dot");
  if (name === "new" || name === "idx") throw bad("is reserved");
  if (uuid.test(name)) throw bad("looks like a UUID");
  return name;
}
