// A call of the runner when a shell waits that was forked ahead.
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { bareSpawn, runner } from "../toolsrv.mjs";

export default {
  name: "tool call, a spare ready",
  against: "bare spawn of sh -c true",
  goal: 0.6,
  rounds: 41,
  async setup() {
    const { spawner, sh } = await runner();
    const one = spawner();
    return {
      baseline: bareSpawn,
      async measured() {
        one.prepare();
        await sleep(25);
        const start = performance.now();
        await sh(one, "true");
        const ms = performance.now() - start;
        // The next spare is forked now, and not while something else is measured.
        await sleep(40);
        return ms;
      },
    };
  },
};
