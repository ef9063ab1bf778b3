/** The tools on disk, for the model's requests, for toolsrv and for /tools. */
import * as z from "zod/mini";
import { definePlugin, Root } from "#core";
import { options } from "#plugins/options";
import { toolsFile } from "./files.ts";
import { registry, toolDirs } from "./registry.ts";
import { Tools } from "./types.ts";

export default definePlugin({
  name: "tools",
  doc: "Finds tools: executables with a .meta file beside them, in OLLIE_TOOLS_PATH and in the package.",
  config: options(
    z.strictObject({
      /** Folders to search instead of OLLIE_TOOLS_PATH, {cfg}/tools and the package's own. */
      dirs: z.optional(z.array(z.string())),
    }),
  ),
  provides: [Tools],
  setup({ config, provide, mount }) {
    const tools = registry(() => config.dirs ?? toolDirs(process.env), process.env);
    provide(Tools, tools);
    mount(Root, toolsFile(tools));
  },
});
