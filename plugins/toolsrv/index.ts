/** Runs tools in processes of their own, one per session: the service ToolRunner. */
import { join } from "node:path";
import * as z from "zod";
import { definePlugin, packageRoot } from "#core";
import { Tools } from "#plugins/tools";
import { supervisor } from "./supervise.ts";
import { tmpBase, tmpDirs } from "./tmp.ts";
import { ToolRunner } from "./types.ts";

export default definePlugin({
  name: "toolsrv",
  doc: "Runs tools in a process per session, which ends with the daemon however that ends.",
  config: z
    .strictObject({
      /** The program of the process. Default: dist/toolsrv.js of the package. */
      entry: z.string().optional(),
      /** Seconds without a call after which the process ends; the next call starts another. */
      idle: z.number().positive().max(1_000_000).default(600),
      /** Seconds that it may take to start. */
      startLimit: z.number().positive().max(600).default(20),
    })
    .prefault({}),
  provides: [ToolRunner],
  needs: [Tools],
  caps: ["exec"],
  setup({ config, provide, use, defer }) {
    const tools = use(Tools);
    const tmp = tmpDirs(tmpBase(process.env));
    tmp.wipeDead();
    const runner = supervisor({
      entry: config.entry ?? join(packageRoot(), "dist", "toolsrv.js"),
      toolDirs: () => tools.dirs(),
      tmp,
      idle: config.idle * 1000,
      startLimit: config.startLimit * 1000,
    });
    provide(ToolRunner, runner);
    defer(() => runner.close());
  },
});
