// Memory of a toolsrv that has run a call and waits.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { megabytes, tools } from "../toolsrv.mjs";

export default {
  name: "toolsrv at rest, RSS",
  against: "limit",
  unit: "MB",
  goal: 1,
  rounds: 5,
  async setup() {
    const { shell, end } = await tools();
    return {
      baseline: async () => 60,
      async measured() {
        const session = randomUUID();
        const { content } = await shell(session, "echo $PPID");
        await sleep(500);
        const used = megabytes(Number(/\d+/.exec(content)[0]), "VmRSS");
        await end(session);
        return used;
      },
    };
  },
};
