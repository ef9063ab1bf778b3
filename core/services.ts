/** Service tokens over a map: an answer from exactly one party. */
import { OllieError } from "./errors.ts";

declare const impl: unique symbol;

export interface Token<out T> {
  readonly [impl]?: T;
  readonly kind: "token";
  readonly name: string;
}

/** Declares a service; exported by the plugin that owns its contract (its types.ts). */
export const token = <T>(name: string): Token<T> => ({ kind: "token", name });

export interface Services {
  provide<T>(token: Token<T>, value: T, plugin: string): () => void;
  get<T>(token: Token<T>): T | undefined;
  provider(token: Token<unknown>): string | undefined;
  rows(): Iterable<{ name: string; plugin: string }>;
}

export function services(): Services {
  const table = new Map<Token<unknown>, { value: unknown; plugin: string }>();
  return {
    provide(key, value, plugin) {
      const old = table.get(key);
      if (old)
        throw new OllieError("E_PROVIDED", `${plugin}: service ${key.name} is already provided by ${old.plugin}`);
      const row = { value, plugin };
      table.set(key, row);
      return () => {
        if (table.get(key) === row) table.delete(key);
      };
    },
    get: <T>(key: Token<T>) => table.get(key)?.value as T | undefined,
    provider: (key) => table.get(key)?.plugin,
    *rows() {
      for (const [key, row] of table) yield { name: key.name, plugin: row.plugin };
    },
  };
}
