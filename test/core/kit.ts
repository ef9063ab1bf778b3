/** What tests of the kernel share: plugins in a line, kernels that are closed at the end. */
import { AsyncResource } from "node:async_hooks";
import { onTestFinished } from "vitest";
import {
  createKernel,
  definePlugin,
  type Kernel,
  type KernelOptions,
  type Logger,
  type PluginDef,
  type Use,
  type UseOptions,
} from "#core";

type Setup = PluginDef["setup"];
type Rest = Partial<Omit<PluginDef, "name" | "setup" | "config">>;

/** Ways into a plugin's asynchronous context, by its name. */
const fuses = new Map<string, (kernel: Kernel, error: unknown) => boolean>();

/** A plugin as it would stand in a config. */
export const plug = (name: string, setup: Setup = () => {}, rest: Rest = {}, use: UseOptions = {}): Use =>
  definePlugin({
    name,
    doc: `The plugin ${name}.`,
    ...rest,
    setup(api) {
      fuses.set(
        name,
        AsyncResource.bind((kernel: Kernel, error: unknown) => kernel.late(error)),
      );
      return setup(api);
    },
  })({}, use);

/** An error in a timer of this plugin, as a daemon's process handlers would hand it to the kernel. */
export function late(kernel: Kernel, name: string, error: unknown = new Error("late")): boolean {
  return fuses.get(name)?.(kernel, error) ?? false;
}

/** A kernel that is closed when the test ends; not started. */
export function kernelOf(plugins: readonly Use[], options: Partial<KernelOptions> = {}): Kernel {
  const kernel = createKernel({ plugins, user: "glenda", ...options });
  onTestFinished(() => kernel.close());
  return kernel;
}

export async function started(plugins: readonly Use[], options: Partial<KernelOptions> = {}): Promise<Kernel> {
  const kernel = kernelOf(plugins, options);
  await kernel.start();
  return kernel;
}

/** State and error of a plugin. */
export function stateOf(kernel: Kernel, name: string): { state: string; error: string | undefined } {
  const row = kernel.status().find((one) => one.name === name);
  if (!row) throw new Error(`no plugin ${name}`);
  return { state: row.state, error: row.error };
}

/** A logger that keeps its lines as `level message`. */
export function keptLog(): { log: Logger; lines: string[] } {
  const lines: string[] = [];
  const at = (level: string) => (message: string) => void lines.push(`${level} ${message}`);
  const log: Logger = { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error"), child: () => log };
  return { log, lines };
}

/** Lets everything that is under way settle. */
export async function settled(): Promise<void> {
  for (let i = 0; i < 10; i++) await new Promise((done) => setImmediate(done));
}

/** The message of what `fn` throws or rejects with; fails when it does neither. */
export async function failure(fn: () => unknown): Promise<string> {
  try {
    await fn();
  } catch (error) {
    return error instanceof Error ? error.message : `not an Error: ${String(error)}`;
  }
  throw new Error("nothing was thrown");
}
