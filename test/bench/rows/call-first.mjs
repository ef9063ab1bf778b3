// The first call of a session: toolsrv is started for it.
import { randomUUID } from "node:crypto";
import { performance } from "node:perf_hooks";
import { node } from "../daemon.mjs";
import { tools } from "../toolsrv.mjs";

export default {
  name: "first tool call of a session",
  against: "node -e 0",
  goal: 4,
  async setup() {
    const { shell, end } = await tools();
    return {
      baseline: () => node(["-e", "0"]),
      async measured() {
        const session = randomUUID();
        const start = performance.now();
        await shell(session, "true");
        const ms = performance.now() - start;
        await end(session);
        return ms;
      },
    };
  },
};
