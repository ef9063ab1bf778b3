// From the start of the daemon's process until it has answered a read of /help.
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { root } from "../../../data/scripts/setup.mjs";
import { node, place, spawnDaemon } from "../daemon.mjs";

export default {
  name: "daemon start to first answer",
  against: "node -e 0",
  goal: 3,
  async setup() {
    const { connect } = await import(pathToFileURL(join(root, "dist/core/ninep/client.js")).href);
    const where = place();
    return {
      baseline: () => node(["-e", "0"]),
      async measured() {
        rmSync(where.socket, { force: true });
        const start = performance.now();
        const running = spawnDaemon(where);
        while (!existsSync(where.socket)) await sleep(1);
        const client = await connect(where.socket);
        await client.read("help");
        const ms = performance.now() - start;
        await client.close();
        await running.stop();
        return ms;
      },
      close: where.remove,
    };
  },
};
