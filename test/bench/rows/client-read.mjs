// The whole life of `ollie-9p read PATH` beside a daemon that runs.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { root } from "../../../data/scripts/setup.mjs";
import { node, place, spawnDaemon } from "../daemon.mjs";

export default {
  name: "ollie-9p read",
  against: "node -e 0",
  goal: 1.3,
  rounds: 25,
  async setup() {
    const where = place();
    const running = spawnDaemon(where);
    while (!existsSync(where.socket)) await sleep(5);
    return {
      baseline: () => node(["-e", "0"]),
      measured: () => node([join(root, "dist/bin/ollie-9p.cjs"), "read", "session/idx"], where.env),
      async close() {
        await running.stop();
        where.remove();
      },
    };
  },
};
