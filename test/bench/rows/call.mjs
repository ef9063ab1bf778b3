// A call of the runner, with nothing made ahead.
import { bareSpawn, runner } from "../toolsrv.mjs";

const row = (name, goal, options) => ({
  name,
  against: "bare spawn of sh -c true",
  goal,
  rounds: 41,
  async setup() {
    const { sh } = await runner(options);
    return { baseline: bareSpawn, measured: () => sh("true") };
  },
});

export default [row("tool call", 0.6), row("tool call, without koffi", 1.3, { native: false })];
