/** Who is running: which plugin's code the present call, timer or promise belongs to. */
import { AsyncLocalStorage } from "node:async_hooks";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

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

/** Files of a stack, from the top. */
export function stackFiles(stack: string | undefined): string[] {
  const files: string[] = [];
  for (const line of stack?.split("\n") ?? []) {
    const place = /(?:\(|at )((?:file:\/\/)?\/[^)]*?):\d+:\d+\)?$/.exec(line)?.[1];
    if (place) files.push(place.startsWith("file:") ? fileURLToPath(place) : place);
  }
  return files;
}

/**
 * Tells the folder of the module that called the caller of this. The stack is taken now and put into words when that is
 * asked: all plugins call this at the start, and hardly ever is one to blame.
 */
export function callerFolder(): () => string | undefined {
  const holder: { stack?: string } = {};
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 2;
  Error.captureStackTrace(holder, callerFolder);
  Error.stackTraceLimit = stackTraceLimit;
  return () => {
    const file = stackFiles(holder.stack)[1];
    return file && dirname(file);
  };
}

/**
 * Who is to blame for an error that reached nobody: the first stack frame in a plugin's folder, else the plugin in whose
 * name it ran. Where the two differ nobody is sure: then all that are named come back and none should be stopped.
 */
export function blame(
  error: unknown,
  running: string | undefined,
  folders: ReadonlyMap<string, string>,
): { plugin?: string; unsure?: string[] } {
  const stack = error instanceof Error ? error.stack : undefined;
  let byStack: string | undefined;
  for (const file of stackFiles(stack)) {
    byStack = folders.get(dirname(file)) || undefined;
    if (byStack) break;
  }
  if (byStack && running && byStack !== running) return { unsure: [byStack, running] };
  const plugin = byStack ?? running;
  return plugin ? { plugin } : {};
}
