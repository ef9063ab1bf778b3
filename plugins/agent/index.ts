/** Plugin agent: the loop that turns prompts into requests, tool calls and replies, and the files to drive it. */
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod/mini";
import { definePlugin } from "#core";
import { AgentConfigs } from "#plugins/agent-config";
import { Backends } from "#plugins/backends";
import { Events } from "#plugins/events";
import { Sockets } from "#plugins/identity";
import { options } from "#plugins/options";
import { Prompts } from "#plugins/prompts";
import { Scheduler } from "#plugins/scheduler";
import { PerSession, Sessions } from "#plugins/sessions";
import { Tools } from "#plugins/tools";
import { ToolRunner } from "#plugins/toolsrv";
import { agentDir } from "./dir.ts";
import { histories } from "./histories.ts";
import { limits } from "./limits.ts";
import { record } from "./lines.ts";
import { type Roster, roster } from "./roster.ts";
import type { Deps } from "./runtime.ts";
import { Agents, Compactor, PerAgent } from "./types.ts";

const config = options(
  z.strictObject({
    /** First pause before a retry, in milliseconds; it doubles. */
    retryBaseMs: z._default(z.number().check(z.positive()), limits.retryBase),
    /** A request that gives nothing for so many milliseconds counts as broken. */
    idleMs: z._default(z.number().check(z.positive()), limits.idle),
    /** Bytes of a successful tool result, as the model gets it; 0: no limit. */
    resultBytes: z._default(z.int().check(z.nonnegative()), limits.toolResult),
    /** Bytes of histories that stay in memory when their agents rest, beside the one that was used last. */
    historyBytes: z._default(z.int().check(z.nonnegative()), limits.histories),
    /** USD that a session may cost. Default: OLLIE_MAX_SESSION_COST, else no limit. */
    maxCost: z.optional(z.number().check(z.positive())),
  }),
);

export default definePlugin({
  name: "agent",
  doc: "Agents: prompts in, replies and tool calls out, until nothing is left to do.",
  provides: [Agents, PerAgent],
  needs: [Sessions, PerSession, Backends, Scheduler, Tools, ToolRunner, AgentConfigs, Prompts, Events],
  wants: [Compactor, Sockets],
  config,
  async setup(api) {
    const { retryBaseMs, idleMs, resultBytes, historyBytes, maxCost = fromEnv("OLLIE_MAX_SESSION_COST") } = api.config;
    const deps: Deps = {
      call: api.call,
      log: api.log,
      sessions: api.use(Sessions),
      backends: api.use(Backends),
      scheduler: api.use(Scheduler),
      tools: api.use(Tools),
      runner: api.use(ToolRunner),
      configs: api.use(AgentConfigs),
      prompts: api.use(Prompts),
      events: api.use(Events),
      compactor: () => api.tryUse(Compactor),
      sockets: api.tryUse(Sockets),
      options: { retryBaseMs, idleMs, resultBytes, maxCost },
      histories: histories(api.use(Sessions), historyBytes),
      spent: (session) => agents.spent(session),
      children: (rt) => agents.children(rt),
      makers: (rt) => agents.makers(rt),
      delay: (ms, signal) => sleep(ms, undefined, { signal }),
      random: Math.random,
    };
    const agents: Roster = roster(
      deps,
      (rt) => api.end(PerAgent, rt.face),
      (name) => api.taken(PerAgent, name),
    );
    api.provide(Agents, service(agents));
    api.mount(PerSession, agentDir(agents));
    api.defer(await deps.sessions.part(agents.part));
    api.defer(
      deps.runner.onProcess((process, change) => {
        const rt = change === "start" ? agents.find(process) : undefined;
        if (rt) void record(rt, { kind: "background", process: { id: process.id, title: process.title } });
      }),
    );
  },
});

function fromEnv(name: string): number | undefined {
  const value = Number(process.env[name]);
  return value > 0 ? value : undefined;
}

const service = (agents: Roster): Agents => ({
  list: (session) => agents.list(session).map((rt) => rt.face),
  get: (session, name) => agents.get(session, name)?.face,
  create: async (session, values) => (await agents.create(session, values)).face,
  async kill(agent) {
    const rt = agents.get(agent.session, agent.id);
    if (rt) await agents.kill(rt);
  },
});
