/** `o`: the terminal client. A program of its own, not loaded by the kernel. */
import { start } from "./start.ts";

const [verb, ...rest] = process.argv.slice(2);

// Whoever reads our output may go away first (`| head`): that is no failure of ours.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});

try {
  if (verb !== "start") throw new Error(`o ${verb ?? ""}: no such verb (verbs: start)`);
  process.exitCode = await start(rest);
} catch (error) {
  process.stderr.write(`ollie: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
