/**
 * The process that runs the tools of one session: the kernel with another tree, served over file descriptor 3. It lives
 * as long as that connection: when the daemon is gone, however it went, everything started here is killed.
 */
import { Socket } from "node:net";
import { createKernel } from "#core";
import { registry, toolDirs } from "#plugins/tools";
import { cookieVariable, loadLibc, markTools, reapOrphans, sweep } from "#plugins/toolsrv";
import { calls } from "./calls.ts";
import { children } from "./children.ts";
import { toolserver } from "./files.ts";
import { type Entry, processes } from "./processes.ts";
import { type Spawners, spawners } from "./spawners.ts";

const cookie = process.env[cookieVariable];
if (!cookie) {
  process.stderr.write("toolsrv is started by olliesrv, not by hand\n");
  process.exit(2);
}

/** The usual soft limit: Node raises its own to the hard one, and some programs walk through all that they may open. */
const openFiles = 1024;

let pool: Spawners | undefined;
let ending = false;
async function end(): Promise<void> {
  if (ending) return;
  ending = true;
  pool?.close();
  await sweep({ root: process.pid, cookie: cookie as string });
  process.exit(0);
}

const connection = new Socket({ fd: 3 });
connection.on("end", end).on("close", end).on("error", end);
for (const name of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(name, end);

markTools();
const native = await loadLibc();
const { libc } = native;
const means = libc && { libc, children: children(libc) };
if (means) {
  means.libc.dieWithParent();
  means.libc.adoptOrphans();
  means.libc.keepDescriptors();
  means.libc.limitOpenFiles(openFiles);
  means.libc.hideMemory();
  reapOrphans(means.libc, { mine: means.children.has });
}
pool = spawners({ program: new URL(import.meta.url), means });

const tools = registry(() => toolDirs(process.env), process.env);
const runs = pool;
const served = {
  tools,
  calls: calls(tools, runs, cookie),
  processes: (onGone: (entry: Entry) => void) => processes(tools, runs, cookie, onGone),
  native,
  spawners: runs,
};
const kernel = createKernel({ plugins: [toolserver(served)] });
await kernel.start();
kernel.serve(connection);
