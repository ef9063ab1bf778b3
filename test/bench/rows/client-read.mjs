// The whole life of `ollie-9p read PATH` beside a daemon that runs: the time it takes, and the CPU.
import { join } from "node:path";
import { root } from "../../../data/scripts/setup.mjs";
import { cost, node, place, spawnDaemon } from "../daemon.mjs";

const nothing = ["-e", "0"];
const read = [join(root, "dist/bin/ollie-9p.cjs"), "read", "session/idx"];
const common = { against: "node -e 0", goal: 1.3, rounds: 25 };

/** `run(args, env)` gives what is compared. */
async function beside(run) {
  const where = place();
  await spawnDaemon(where).serving();
  return {
    baseline: () => run(nothing),
    measured: () => run(read, where.env),
  };
}

export default [
  { ...common, name: "ollie-9p read", setup: () => beside(node) },
  {
    ...common,
    name: "ollie-9p read: CPU",
    setup: () => beside(async (args, env) => (await cost(args, env)).cpu),
  },
];
