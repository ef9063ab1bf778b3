/**
 * The process that runs the tools of one session: the kernel with another tree, served over file descriptor 3. It lives
 * as long as that connection: when the daemon is gone, however it went, everything started here is killed.
 */
import { Socket } from "node:net";
import { createKernel } from "#core";
import { registry, toolDirs } from "#plugins/tools";
import { cookieVariable, sweep } from "#plugins/toolsrv";
import { calls } from "./calls.ts";
import { toolserver } from "./files.ts";

const cookie = process.env[cookieVariable];
if (!cookie) {
  process.stderr.write("toolsrv is started by olliesrv, not by hand\n");
  process.exit(2);
}

let ending = false;
async function end(): Promise<void> {
  if (ending) return;
  ending = true;
  await sweep({ root: process.pid, cookie: cookie as string });
  process.exit(0);
}

const connection = new Socket({ fd: 3 });
connection.on("end", end).on("close", end).on("error", end);
for (const name of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(name, end);

const tools = registry(() => toolDirs(process.env), process.env);
const kernel = createKernel({ plugins: [toolserver(tools, calls(tools, cookie))] });
await kernel.start();
kernel.serve(connection);
