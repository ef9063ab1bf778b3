/** Plugin identity: who a connection is. The process that connected decides, never the name that it gives. */
import { lstatSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import * as z from "zod/mini";
import { accept, dataDir, definePlugin, descriptorOf, type ListenOptions, makeDir, OllieError } from "#core";
import { options } from "#plugins/options";
import { callerOf, type Rule, userRule } from "./judge.ts";
import { loadNative } from "./native.ts";
import { pathRest, removeDead, sockets } from "./sockets.ts";
import { Sockets } from "./types.ts";

/** Node cuts a longer path of a socket without a word, and two agents would share one. */
const maxPath = 100;

export default definePlugin({
  name: "identity",
  doc: "Who a connection is: a socket for each agent and each command, and a look at who connects to the main one.",
  // without it every process would be the user
  required: true,
  config: options(
    z.strictObject({
      /** Folder of the sockets. Default: ollie in XDG_RUNTIME_DIR, else run where ollie keeps its data, else /tmp/ollie-UID. */
      dir: z.optional(z.string()),
      /** True: clients of yours may have no_new_privs. A sandboxed process that is not ollie's passes for you then. */
      acceptNoNewPrivs: z._default(z.boolean(), false),
      /** True: whoever connects by TCP is taken for you. Who that is can not be told. */
      acceptTcp: z._default(z.boolean(), false),
    }),
  ),
  provides: [Sockets],
  caps: ["exec"],
  setup({ config, log, dryRun, provide, on, listen, defer }) {
    const dir = config.dir ?? socketDir(process.env);
    if (!fits(dir))
      throw new OllieError(
        "E_CONFIG",
        `${dir} is too long for sockets (${maxPath} bytes with their names): set XDG_RUNTIME_DIR to a shorter folder`,
      );
    const rules = new WeakMap<ListenOptions, Rule>();
    const main = userRule(config.acceptNoNewPrivs);
    let told = false;

    on(accept, async ({ duplex, options: given }) => {
      const rule = rules.get(given) ?? (given.principal || given.judge ? undefined : main);
      // A stream that is no socket was made by a program in this process.
      if (!rule || !(duplex instanceof Socket)) return undefined;
      if (duplex.remoteFamily !== undefined)
        return config.acceptTcp ? undefined : { block: "permission denied: who connects by tcp can not be told" };
      const { calls, missing } = await loadNative();
      if (!calls) {
        if (!told) log.warn(`who connects can not be told (${missing}): every process of this user is taken for them`);
        told = true;
        return undefined;
      }
      const fd = descriptorOf(duplex);
      const caller = fd === undefined ? "permission denied: the connection has ended" : callerOf(fd, calls);
      const why = typeof caller === "string" ? caller : rule(caller);
      if (why === undefined) return undefined;
      log.info(`a connection was refused: ${why}`, typeof caller === "string" ? {} : { pid: caller.line[0] });
      return { block: why };
    });

    const all = sockets({ dir, listen, ready: loadNative, rule: (given, rule) => void rules.set(given, rule) });
    provide(Sockets, all);
    defer(() => all.close());
    if (dryRun) return;
    // Not part of the start: nobody waits for it.
    const late = setTimeout(() => void removeDead(dir), 200).unref();
    defer(() => clearTimeout(late));
  },
});

const fits = (dir: string): boolean => Buffer.byteLength(dir) + pathRest <= maxPath;

/** The runtime folder, else the data folder, else, where that lies too deep, one of the user's own in /tmp. */
function socketDir(env: NodeJS.ProcessEnv): string {
  if (env.XDG_RUNTIME_DIR) return join(env.XDG_RUNTIME_DIR, "ollie");
  const own = join(dataDir(env), "run");
  return fits(own) ? own : ownTemporary();
}

/** Somebody else could have made it first, and would then have the sockets. */
function ownTemporary(): string {
  const dir = `/tmp/ollie-${process.getuid?.() ?? "run"}`;
  makeDir(dir);
  const { uid, mode } = lstatSync(dir);
  if (uid === process.getuid?.() && (mode & 0o077) === 0) return dir;
  throw new OllieError("E_CONFIG", `identity: ${dir} is not yours alone: set XDG_RUNTIME_DIR to a folder that is`);
}
