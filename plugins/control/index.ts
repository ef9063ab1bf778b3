/** Plugin control: the server about itself, in /help, /ctl and /plugins. */
import { definePlugin, KernelView, Root } from "#core";
import { Sessions } from "#plugins/sessions";
import { help, rootCtl } from "./files.ts";
import { pluginDir } from "./plugins.ts";
import { invalidate } from "./types.ts";

export default definePlugin({
  name: "control",
  doc: "The server about itself: help, ctl, and how the plugins fare.",
  needs: [KernelView],
  wants: [Sessions],
  setup(api) {
    const kernel = api.use(KernelView);
    const ctl = rootCtl({
      kernel,
      sessions: () => api.tryUse(Sessions),
      invalidate: (what) => api.call(invalidate, what),
    });
    api.mount(Root, help(kernel), ctl, pluginDir(kernel));
  },
});
