/** What an agent's config changes when it is taken, and what is told of it. */
import type { AgentConfig } from "#plugins/agent-config";
import { info, pathOf, publish, type Runtime } from "./runtime.ts";

/** The agent runs with `config` from now on. What of its file has no effect is told: in chat, in an event and in the log. */
export function takeConfig(rt: Runtime, config: AgentConfig): void {
  rt.config = config;
  if (config.warning === undefined) return;
  const text = `config ${config.name}: ${config.warning}`;
  rt.deps.log.warn(text, { agent: rt.id });
  info(rt, text);
  publish(rt, "warning", `E ${pathOf(rt)} ${text}`);
}
