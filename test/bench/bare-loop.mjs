// A loop as bare as can be, in a process of its own: it fetches, then runs a shell that does nothing. Answers each message
// `{ url, steps }` with the milliseconds of a step.
import { spawn } from "node:child_process";
import { performance } from "node:perf_hooks";

const shell = () => new Promise((resolve) => spawn("/bin/sh", ["-c", "true"]).on("close", resolve));

process.on("message", async ({ url, steps }) => {
  const start = performance.now();
  for (let n = 0; n < steps; n++) {
    await (await fetch(url, { method: "POST", body: "{}" })).text();
    await shell();
  }
  process.send((performance.now() - start) / steps);
});
