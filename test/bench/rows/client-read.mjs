// The whole life of `ollie-9p read PATH` beside a daemon that runs: the time it takes, and the CPU.
import { join } from "node:path";
import { root } from "../../../data/scripts/setup.mjs";
import { cost, node, place, spawnDaemon } from "../daemon.mjs";
import { attach, open, read, version, walk } from "../ninep.mjs";

const nothing = ["-e", "0"];
const client = () => [join(root, "dist/bin/ollie-9p.cjs"), "read", "session/idx"];
/** What Node itself takes of that: the same requests, known beforehand. The file is empty, so its first read is the last. */
const bare = ({ socket }) => {
  const requests = [version, attach(0), walk(0, 0, 1, "session", "idx"), open(0, 1), read(0, 1)];
  return [join(import.meta.dirname, "../bare-read.cjs"), socket, ...requests.map((one) => one.toString("hex"))];
};
const common = { against: "node -e 0", goal: 1.3, rounds: 25 };

/** `run(args, env)` gives what is compared; `measured(place)` are the arguments of Node. */
async function beside(run, measured) {
  const where = place();
  await spawnDaemon(where).serving();
  return {
    baseline: () => run(nothing),
    measured: () => run(measured(where), where.env),
  };
}

const cpu = async (args, env) => (await cost(args, env)).cpu;

export default [
  { ...common, name: "ollie-9p read", setup: () => beside(node, client) },
  { ...common, name: "ollie-9p read: CPU", setup: () => beside(cpu, client) },
  { ...common, name: "the same with Node's socket alone", setup: () => beside(node, bare) },
  { ...common, name: "the same with Node's socket alone: CPU", setup: () => beside(cpu, bare) },
];
