// Memory of a toolsrv, at most, while a tool writes 1 GB.
import { randomUUID } from "node:crypto";
import { megabytes, tools } from "../toolsrv.mjs";

export default {
  name: "toolsrv with 1 GB of output, peak RSS",
  against: "limit",
  unit: "MB",
  goal: 1,
  rounds: 3,
  async setup() {
    const { shell, end } = await tools();
    return {
      baseline: async () => 120,
      async measured() {
        const session = randomUUID();
        const { content } = await shell(session, "echo $PPID");
        await shell(session, "yes | head -c 1000000000");
        const used = megabytes(Number(/\d+/.exec(content)[0]), "VmHWM");
        await end(session);
        return used;
      },
    };
  },
};
