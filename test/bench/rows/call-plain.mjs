// A call of the runner when no shell waits.
import { performance } from "node:perf_hooks";
import { bareSpawn, runner } from "../toolsrv.mjs";

export default {
  name: "tool call, no spare",
  against: "bare spawn of sh -c true",
  goal: 1.1,
  rounds: 41,
  async setup() {
    const { spawner, sh } = await runner();
    return {
      baseline: bareSpawn,
      async measured() {
        const fresh = spawner();
        const start = performance.now();
        await sh(fresh, "true");
        const ms = performance.now() - start;
        fresh.close();
        return ms;
      },
    };
  },
};
