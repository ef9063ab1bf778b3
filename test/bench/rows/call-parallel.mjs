// Eight calls of `sleep 0.2` at once.
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { bareSpawn, runner } from "../toolsrv.mjs";

export default {
  name: "8 tool calls of 0.2 s at once",
  against: "0.2 s and 8 bare spawns",
  goal: 1.2,
  async setup() {
    const { spawner, sh } = await runner();
    const one = spawner();
    return {
      async baseline() {
        const start = performance.now();
        for (let i = 0; i < 8; i++) await bareSpawn();
        return performance.now() - start + 200;
      },
      async measured() {
        const start = performance.now();
        await Promise.all(Array.from({ length: 8 }, () => sh(one, "sleep 0.2")));
        const ms = performance.now() - start;
        await sleep(40);
        return ms;
      },
    };
  },
};
