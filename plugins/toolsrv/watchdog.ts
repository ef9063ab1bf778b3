/**
 * The last line of defence, for the case that daemon and tool servers are killed at once: a shell in a session of its own
 * that waits on a pipe from the daemon. A line means that all is well; the end of the pipe without one, that the daemon died.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { cookieVariable, markOf } from "./sweep.ts";

const script = `
if read -r _; then exit 0; fi
sleep 0.7
for round in 1 2 3 4 5; do
  found=0
  for file in $(grep -lsF "${cookieVariable}=$1" /proc/[0-9]*/environ); do
    pid=\${file#/proc/}
    kill -9 "\${pid%/environ}" 2>/dev/null && found=1
  done
  [ $found = 0 ] && exit 0
done
`;

/** One for all tool servers of this process, as long as there is one. */
let guard: ChildProcess | undefined;
let guarded = 0;

/** Until what it returns is called, something watches over what tool servers of this process have started. */
export function watched(): () => void {
  guarded++;
  guard ??= start();
  return () => {
    if (--guarded > 0) return;
    guard?.stdin?.end("done\n");
    guard = undefined;
  };
}

function start(): ChildProcess {
  const made = spawn("/bin/sh", ["-c", script, "ollie-watchdog", markOf(process.pid)], {
    cwd: "/",
    detached: true,
    env: { PATH: process.env.PATH ?? "/usr/bin:/bin" },
    stdio: ["pipe", "ignore", "ignore"],
  });
  // The next tool server gets another.
  const forget = () => {
    if (guard === made) guard = undefined;
  };
  made.on("error", forget).on("exit", forget);
  made.stdin?.on("error", () => {});
  made.unref();
  return made;
}
