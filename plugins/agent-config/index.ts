/** Plugin agent-config: agents as JSON files, and /agents. */
import { definePlugin, leaf, messageOf, Root, searchPath } from "#core";
import { agentConfigs } from "./configs.ts";
import { AgentConfigs } from "./types.ts";

/** One line on what is wrong with a config file, or nothing. */
function faultOf(configs: AgentConfigs, name: string): string[] {
  let fault: string | undefined;
  try {
    fault = configs.load(name).warning;
  } catch (error) {
    fault = messageOf(error).replace(`agent ${name}: `, "");
  }
  return fault === undefined ? [] : [fault.replace(/\s+/g, " ")];
}

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
        doc: "Names of the agent configs, one a line: what agent= may be when an agent is made. Where a file can not be used, or has keys without effect, a tab and why follow.",
        read: () =>
          configs
            .names()
            .map((name) => `${[name, ...faultOf(configs, name)].join("\t")}\n`)
            .join(""),
      }),
    );
  },
});
