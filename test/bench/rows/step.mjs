// A tool step of a turn: from one request to the next, with a shell that does nothing.
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
    await daemon.turn();
    const shell = () => new Promise((resolve) => spawn("/bin/sh", ["-c", "true"]).on("close", resolve));
    return {
      async measured() {
        at.steps = steps;
        const path = await daemon.turn();
        const ms = (at.asked.at(-1) - at.asked[0]) / steps;
        await daemon.client.rdwr(`${path}/ctl`, "kill");
        return ms;
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
