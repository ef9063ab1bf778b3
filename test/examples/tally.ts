import { definePlugin, leaf, Root } from "ollie";
import { PerAgent, preTool } from "ollie/agent";
import { PerSession } from "ollie/sessions";
import * as z from "zod";

export default definePlugin({
  name: "tally",
  version: "1.0.0",
  doc: "Counts tool calls and can limit them.",
  needs: [PerSession, PerAgent],
  config: z.strictObject({ limit: z.number().int().positive().optional() }).default({}),
  setup({ config, mount, on, state }) {
    let total = 0;
    const perSession = state(PerSession, () => ({ n: 0 }));
    const perAgent = state(PerAgent, () => ({ n: 0 }));
    on(preTool, (call) => {
      total++;
      perSession(call.at).n++;
      perAgent(call.at).n++;
      if (config.limit !== undefined && total > config.limit) return { block: "tally: limit reached" };
    });
    mount(Root, leaf("tally", { doc: "Tool calls since start", read: () => `${total}\n` }));
    mount(PerSession, leaf("tally", { doc: "Tool calls in this session", read: (c) => `${perSession(c).n}\n` }));
    mount(
      PerAgent,
      leaf("tally", {
        doc: "Tool calls by this agent; a write resets",
        read: (c) => `${perAgent(c).n}\n`,
        write: (c) => {
          perAgent(c).n = 0;
        },
      }),
    );
  },
});
