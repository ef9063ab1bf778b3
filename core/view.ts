/** The kernel as the plugin `control` sees it. A service, so that core serves no files of its own. */
import type { PluginStatus } from "./plugins.ts";
import { token } from "./services.ts";
import type { Principal } from "./tree/principal.ts";

export interface KernelView {
  /** The whole tree with every node's doc, as text. With `principal`, what that one may not use is left out. */
  help(principal?: Principal): string;
  /** Every plugin of the config, in config order. */
  status(): PluginStatus[];
  /** Ends the kernel: in a daemon this ends the process. `reason` is for the log. Returns at once. */
  stop(reason: string): void;
}

/** Provided by the kernel itself, before the first setup. */
export const KernelView = token<KernelView>("kernel");
