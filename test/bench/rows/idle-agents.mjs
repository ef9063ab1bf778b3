// Memory of a daemon with 100 agents that have had one turn each.

import { daemonFor, model } from "../model.mjs";
import { megabytes } from "../toolsrv.mjs";

const agents = 100;

export default {
  name: `daemon with ${agents} idle agents, RSS`,
  against: "limit",
  unit: "MB",
  goal: 1,
  rounds: 2,
  async setup() {
    const at = await model();
    const daemon = await daemonFor(at);
    // A session holds 64 agents at most.
    await daemon.client.rdwr("session/new", "name=s2");
    for (let n = 0; n < agents; n++) {
      const path = `session/s${(n % 2) + 1}/agent/x${n}`;
      await daemon.client.rdwr(`session/s${(n % 2) + 1}/agent/new`, `name=x${n}\ncwd=${daemon.where.dir}`);
      await daemon.client.write(`${path}/prompt`, "hello");
      await daemon.rest(path);
    }
    return {
      baseline: async () => 120 + agents,
      measured: async () => megabytes(daemon.pid, "VmRSS"),
    };
  },
};
