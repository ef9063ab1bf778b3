// A tool step of a turn: from the end of a response to the next request, with a shell that does nothing, confined.
import { spawn } from "node:child_process";
import { daemonFor, model } from "../model.mjs";

const steps = 20;

export default {
  name: "tool step of a turn",
  against: "fetch, then spawn sh -c true",
  goal: 1,
  async setup() {
    const at = await model();
    const daemon = await daemonFor(at);
    const shell = () => new Promise((resolve) => spawn("/bin/sh", ["-c", "true"]).on("close", resolve));
    return {
      async measured() {
        at.steps = steps;
        const path = await daemon.turn();
        await daemon.client.rdwr(`${path}/ctl`, "kill");
        const between = at.asked.slice(1).map((asked, n) => asked - at.answered[n]);
        // The first one starts the agent's sandbox: it has a row of its own.
        return between.slice(1).reduce((sum, ms) => sum + ms) / (steps - 1);
      },
      async baseline() {
        at.steps = steps;
        at.asked.length = 0;
        const start = performance.now();
        for (let n = 0; n < steps; n++) {
          await (await fetch(`${at.url}/v1/chat/completions`, { method: "POST", body: "{}" })).text();
          await shell();
        }
        return (performance.now() - start) / steps;
      },
    };
  },
};
