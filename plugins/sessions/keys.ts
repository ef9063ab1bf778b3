/** key=value requests, as session/new and agent/new take them. */
import { NineError } from "#core";

/**
 * Parses `key=value` tokens. With several lines each line is one pair and values may hold spaces; a single line may hold
 * several pairs, split at white space that is followed by a word and `=`. Empty values count as unset.
 * A key that ends in a dot in `keys` (`env.`) allows any name behind it. Throws NineError.
 */
export function parseKeys(input: string, keys: readonly string[], what: string): Map<string, string> {
  const known = (key: string) =>
    keys.some((k) => (k.endsWith(".") ? key.startsWith(k) && key.length > k.length : k === key));
  const values = new Map<string, string>();
  const put = (pair: string) => {
    const at = pair.indexOf("=");
    if (at <= 0)
      throw new NineError(`${what}: ${JSON.stringify(pair.slice(0, 40))} is not key=value (keys: ${keys.join(" ")})`);
    const key = pair.slice(0, at);
    if (!known(key))
      throw new NineError(`${what}: unknown key ${JSON.stringify(key.slice(0, 40))} (keys: ${keys.join(" ")})`);
    if (values.has(key)) throw new NineError(`${what}: key ${JSON.stringify(key)} is given twice`);
    const value = pair.slice(at + 1).trim();
    if (value !== "") values.set(key, value);
  };
  const lines = input.split("\n").map((line) => line.trim());
  const full = lines.filter((line) => line !== "");
  if (full.length > 1) full.forEach(put);
  else for (const pair of (full[0] ?? "").split(/\s+(?=[A-Za-z_][\w.-]*=)/)) if (pair !== "") put(pair);
  return values;
}
