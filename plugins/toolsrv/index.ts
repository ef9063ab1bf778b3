/** Runs tools in processes of their own, one per session: the service ToolRunner. */
import { join } from "node:path";
import * as z from "zod/mini";
import { definePlugin, packageRoot } from "#core";
import { Events } from "#plugins/events";
import { Sockets } from "#plugins/identity";
import { options } from "#plugins/options";
import { Tools } from "#plugins/tools";
import { isolation } from "./isolation.ts";
import { loadLibc } from "./libc.ts";
import { processes } from "./processes.ts";
import { findProvider, providers, type Wanted } from "./provider.ts";
import { supervisor } from "./supervise.ts";
import { sweepDead } from "./sweep.ts";
import { tmpBase, tmpDirs } from "./tmp.ts";
import { ToolRunner } from "./types.ts";

export default definePlugin({
  name: "toolsrv",
  doc: "Runs tools in a process per session, which ends with the daemon however that ends.",
  config: options(
    z.strictObject({
      /** The program of the process. Default: dist/toolsrv.js of the package. */
      entry: z.optional(z.string()),
      /** What confines tools: `auto` is the first that works of bwrap, landlock and landrun. OLLIE_ISOLATION wins. */
      isolation: z._default(z.enum(["auto", ...providers]), "auto"),
      /** Name of the sandbox profile that calls have: a file in {cfg}/sandbox or in the package's data/sandbox. */
      profile: z._default(z.string(), "default"),
      /** Seconds without a call after which the process ends; the next call starts another. */
      idle: z._default(z.number().check(z.positive(), z.maximum(1_000_000)), 600),
      /** Seconds that a background process stays in the list after it ended and was last read. */
      keep: z._default(z.number().check(z.positive(), z.maximum(1_000_000)), 600),
      /** Background processes of one session that may run at once. */
      processes: z._default(z.int().check(z.positive(), z.maximum(10_000)), 256),
      /** Seconds that it may take to start. */
      startLimit: z._default(z.number().check(z.positive(), z.maximum(600)), 20),
    }),
  ),
  provides: [ToolRunner],
  needs: [Tools],
  wants: [Events, Sockets],
  caps: ["exec"],
  setup({ config, dryRun, provide, use, tryUse, defer }) {
    const tools = use(Tools);
    const tmp = tmpDirs(tmpBase(process.env));
    if (!dryRun) tmp.wipeDead();
    const runner = supervisor({
      entry: config.entry ?? join(packageRoot(), "dist", "toolsrv.js"),
      toolDirs: () => tools.dirs(),
      tmp,
      sockets: tryUse(Sockets),
      isolation: isolation({
        find: async () =>
          findProvider(wanted(config.isolation, process.env), { env: process.env, native: !!(await loadLibc()).libc }),
        profile: config.profile,
        env: process.env,
        toolDirs: () => tools.dirs(),
      }),
      onNote({ session, agent, sessionName, agentName }, note) {
        const line = `E session/${sessionName}/agent/${agentName} ${note}`;
        tryUse(Events)?.publish(`session.${session}.agent.${agent}.warning`, line);
      },
      processes: processes({ keep: config.keep * 1000, limit: config.processes }),
      idle: config.idle * 1000,
      startLimit: config.startLimit * 1000,
    });
    provide(ToolRunner, runner);
    defer(() => runner.close());
    if (dryRun) return;
    // Not part of the start: nobody waits for it.
    const late = setTimeout(() => void sweepDead(), 200).unref();
    defer(() => clearTimeout(late));
  },
});

/** Throws where the variable says what can not be. */
function wanted(configured: Wanted, { OLLIE_ISOLATION: asked }: NodeJS.ProcessEnv): Wanted {
  if (!asked) return configured;
  const found = (["auto", ...providers] as const).find((name) => name === asked);
  if (found) return found;
  throw new Error(`OLLIE_ISOLATION is "${asked}" (values: auto ${providers.join(" ")})`);
}
