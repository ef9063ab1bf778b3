/** `o`: the terminal client. A program of its own, not loaded by the kernel. */
import { start } from "./start.ts";

const [verb, ...rest] = process.argv.slice(2);

// Who reads our output may go away (`| head`), and so may the terminal: what is left to do is done all the same.
for (const stream of [process.stdin, process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE" && error.code !== "EIO") throw error;
  });
}

// A shell that goes away repeats its SIGHUP, which must not end what is still to be done.
let hungUp = false;
process.on("SIGHUP", () => {
  hungUp = true;
});

try {
  if (verb !== "start") throw new Error(`o ${verb ?? ""}: no such verb (verbs: start)`);
  process.exitCode = await start(rest);
} catch (error) {
  process.stderr.write(`ollie: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

// Node's own end would trip over a terminal that is gone.
if (hungUp) {
  process.removeAllListeners("SIGHUP");
  process.kill(process.pid, "SIGHUP");
}
