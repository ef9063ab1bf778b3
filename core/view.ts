/** The kernel as the plugin `control` sees it. A service, so that core serves no files of its own. */
import type { PluginStatus } from "./plugins.ts";
import { token } from "./services.ts";
import type { DocRow } from "./tree/doc.ts";

export interface KernelView {
  /** Every node of the tree with its doc, parents first. */
  files(): DocRow[];
  /** Every plugin of the config, in config order. */
  status(): PluginStatus[];
  /** Ends the kernel: in a daemon this ends the process. `reason` is for the log. Returns at once. */
  stop(reason: string): void;
}

/** Provided by the kernel itself, before the first setup. */
export const KernelView = token<KernelView>("kernel");
