/** Plugin agent-config: agents as JSON files, and /agents. */
import { definePlugin, leaf, Root, searchPath } from "#core";
import { agentConfigs } from "./configs.ts";
import { AgentConfigs } from "./types.ts";

export default definePlugin({
  name: "agent-config",
  doc: "Agent configs: JSON files in OLLIE_AGENTS_PATH or {cfg}/agents, then the package's own.",
  provides: [AgentConfigs],
  setup(api) {
    const configs = agentConfigs(() => searchPath("agents"));
    api.provide(AgentConfigs, configs);
    api.mount(
      Root,
      leaf("agents", {
        doc: "Names of the agent configs, one a line: what agent= may be when an agent is made.",
        read: () =>
          configs
            .names()
            .map((name) => `${name}\n`)
            .join(""),
      }),
    );
  },
});
