// From the write of a prompt until its request is at the provider, in a daemon that is warm.
import { performance } from "node:perf_hooks";
import { daemonFor, model } from "../model.mjs";

export default {
  name: "prompt write to request",
  against: "9P round trip and 10 ms",
  goal: 1,
  rounds: 25,
  async setup() {
    const at = await model();
    const daemon = await daemonFor(at);
    const path = await daemon.turn();
    return {
      async measured() {
        const asked = new Promise((resolve) => {
          at.onAsked = () => resolve(performance.now());
        });
        const start = performance.now();
        await daemon.client.write(`${path}/prompt`, "go");
        const ms = (await asked) - start;
        await daemon.rest(path);
        return ms;
      },
      async baseline() {
        const start = performance.now();
        await daemon.client.read(`${path}/id`);
        return performance.now() - start + 10;
      },
    };
  },
};
