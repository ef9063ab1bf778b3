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
    // The first turn starts what later ones find.
    at.steps = 1;
    const agent = await daemon.turn();
    const shell = () => new Promise((resolve) => spawn("/bin/sh", ["-c", "true"]).on("close", resolve));
    return {
      async measured() {
        at.steps = steps;
        await daemon.turn(agent);
        const between = at.asked.slice(1).map((asked, n) => asked - at.answered[n]);
        return between.reduce((sum, ms) => sum + ms) / steps;
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
