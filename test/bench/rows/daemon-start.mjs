// From the start of the daemon's process until it has answered a read of /help: the time it takes, and the CPU.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { pathToFileURL } from "node:url";
import { root } from "../../../data/scripts/setup.mjs";
import { cost, cpuOf, node, place, spawnDaemon } from "../daemon.mjs";

const nothing = ["-e", "0"];
const common = { against: "node -e 0", goal: 3 };

/** `take(ms, pid)` gives what is compared, when the answer is there. */
async function starting(baseline, take) {
  const { connect } = await import(pathToFileURL(join(root, "dist/core/ninep/client.js")).href);
  const where = place();
  return {
    baseline,
    async measured() {
      rmSync(where.socket, { force: true });
      const start = performance.now();
      const running = spawnDaemon(where);
      await running.serving(1);
      const client = await connect(where.socket);
      await client.read("help");
      const result = take(performance.now() - start, running.pid);
      await client.close();
      await running.stop();
      return result;
    },
  };
}

export default [
  {
    ...common,
    name: "daemon start to first answer",
    setup: () =>
      starting(
        () => node(nothing),
        (ms) => ms,
      ),
  },
  {
    ...common,
    name: "daemon start to first answer: CPU",
    setup: () =>
      starting(
        async () => (await cost(nothing)).cpu,
        (_ms, pid) => cpuOf(pid),
      ),
  },
];
