/** Who is running: which plugin's code the present call, timer or promise belongs to. */
import { AsyncLocalStorage } from "node:async_hooks";

export interface Attribution {
  runAs<T>(plugin: string, fn: () => T): T;
  /** The plugin in whose name this code runs. */
  current(): string | undefined;
}

export function attribution(): Attribution {
  const storage = new AsyncLocalStorage<string>();
  return {
    runAs: (plugin, fn) => (storage.getStore() === plugin ? fn() : storage.run(plugin, fn)),
    current: () => storage.getStore(),
  };
}
