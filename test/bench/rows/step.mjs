// A tool step of a turn: from the end of a response to the next request, with a shell that does nothing, confined.
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { atEnd } from "../cleanup.mjs";
import { daemonFor, model } from "../model.mjs";

const steps = 20;

export default {
  name: "tool step of a turn",
  against: "fetch, then spawn sh -c true",
  goal: 1,
  async setup() {
    const at = await model();
    const daemon = await daemonFor(at);
    // The first turn starts the agent's sandbox: it has a row of its own.
    at.steps = 1;
    const agent = await daemon.turn();
    const bare = fork(join(import.meta.dirname, "../bare-loop.mjs"));
    atEnd(() => bare.kill());
    return {
      async measured() {
        at.steps = steps;
        await daemon.client.rdwr(`${agent}/ctl`, "clear");
        await daemon.turn(agent);
        const between = at.asked.slice(1).map((asked, n) => asked - at.answered[n]);
        return between.reduce((sum, ms) => sum + ms) / steps;
      },
      async baseline() {
        at.asked.length = 0;
        bare.send({ url: `${at.url}/v1/chat/completions`, steps });
        const [ms] = await once(bare, "message");
        return ms;
      },
    };
  },
};
