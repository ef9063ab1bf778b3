// Eight calls of `sleep 0.2` at once.
import { performance } from "node:perf_hooks";
import { bareSpawn, runner } from "../toolsrv.mjs";

export default {
  name: "8 tool calls of 0.2 s at once",
  against: "0.2 s and 8 bare spawns",
  goal: 1.2,
  async setup() {
    const { sh } = await runner();
    return {
      async baseline() {
        const start = performance.now();
        for (let i = 0; i < 8; i++) await bareSpawn();
        return performance.now() - start + 200;
      },
      async measured() {
        const start = performance.now();
        await Promise.all(Array.from({ length: 8 }, () => sh("sleep 0.2")));
        return performance.now() - start;
      },
    };
  },
};
