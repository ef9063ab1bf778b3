/** Decides which tool calls of one reply run side by side. Replace it by another plugin that provides Scheduler. */
import { definePlugin } from "#core";
import { schedule } from "./schedule.ts";
import { Scheduler } from "./types.ts";

export default definePlugin({
  name: "scheduler",
  doc: "Runs the tool calls of one reply in parallel where their scopes allow it.",
  provides: [Scheduler],
  setup({ provide }) {
    provide(Scheduler, { schedule });
  },
});
