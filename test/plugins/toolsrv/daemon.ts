/** A daemon in small, for tests that kill one: runs one call in a toolsrv and prints what it writes. */
import { randomUUID } from "node:crypto";
import { toolDirs } from "#plugins/tools";
import { processes } from "../../../plugins/toolsrv/processes.ts";
import { supervisor } from "../../../plugins/toolsrv/supervise.ts";
import { tmpDirs } from "../../../plugins/toolsrv/tmp.ts";

const [entry = "", base = "", command = ""] = process.argv.slice(2);
const runner = supervisor({
  entry,
  toolDirs: () => toolDirs({}),
  tmp: tmpDirs(base),
  idle: 600_000,
  startLimit: 20_000,
  processes: processes({ keep: 600_000, limit: 256 }),
});
const request = {
  session: randomUUID(),
  agent: randomUUID(),
  sessionName: "s",
  agentName: "a",
  callId: "c",
  tool: "shell",
  args: { command },
  cwd: "/",
  env: {},
  timeout: 0,
};
const onOutput = (text: string) => process.stdout.write(text);
await runner.call(request, { signal: new AbortController().signal, onOutput });
