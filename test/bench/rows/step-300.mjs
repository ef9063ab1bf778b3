// What a step costs does not grow with the turn: the steps before the 300th against those before the 20th of the same turn.
import { daemonFor, model } from "../model.mjs";

const between = (times, last) => (times[last] - times[last - 19]) / 19;

export default {
  name: "tool step 300",
  against: "tool step 20 of the same turn",
  goal: 1.3,
  rounds: 5,
  async setup() {
    const at = await model();
    const daemon = await daemonFor(at);
    const early = [];
    const late = [];
    return {
      async measured() {
        if (late.length === 0) await run();
        return late.shift();
      },
      async baseline() {
        if (early.length === 0) await run();
        return early.shift();
      },
    };
    async function run() {
      at.steps = 301;
      const path = await daemon.turn();
      early.push(between(at.asked, 20));
      late.push(between(at.asked, 300));
      await daemon.client.rdwr(`${path}/ctl`, "kill");
    }
  },
};
