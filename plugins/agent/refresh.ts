/** Changes of what an agent is: its config read again, another config, a new beginning. */
import { messageOf } from "#core";
import type { AgentConfig } from "#plugins/agent-config";
import { firstTools } from "./checks.ts";
import { takeConfig } from "./config.ts";
import { measure } from "./context.ts";
import { foldersOf, plainPrompt } from "./grow.ts";
import { limits } from "./limits.ts";
import { record } from "./lines.ts";
import { fail, info, type Runtime } from "./runtime.ts";
import { untilStop } from "./stopping.ts";
import { agentSpawn } from "./types.ts";

/** Config, system prompt and parameters as they are on disk now; history and loaded tools stay. What fails is told. */
export async function refresh(rt: Runtime, signal: AbortSignal): Promise<void> {
  rt.stale = false;
  try {
    const config = rt.deps.configs.load(rt.agent);
    const system = await render(rt, config, signal);
    takeConfig(rt, config);
    await record(rt, { kind: "set", values: { system, params: config.params, sandbox: config.sandbox ?? "" } });
    measure(rt);
  } catch (error) {
    rt.stale = true;
    if (!signal.aborted) fail(rt, `config ${rt.agent} can not be read again: ${messageOf(error)}`);
  }
}

/** Another config: prompt, tools and parameters are its own, the history is dropped. */
export async function changeConfig(rt: Runtime, name: string, signal: AbortSignal): Promise<void> {
  const config = rt.deps.configs.load(name);
  const system = await render(rt, config, signal);
  if (signal.aborted) return;
  takeConfig(rt, config);
  const { params, sandbox = "" } = config;
  const values = { agent: config.name, system, params, sandbox, tools: firstTools(rt.deps.tools, config) };
  await record(rt, { kind: "set", values });
  await clear(rt, signal);
}

/** Drops the history; the id, chat and queue stay. */
export async function clear(rt: Runtime, signal: AbortSignal): Promise<void> {
  await record(rt, { kind: "cleared" });
  measure(rt);
  rt.spawn = [];
  const spawn = rt.deps.call(agentSpawn, { at: rt.at, inject: (text) => void rt.spawn.push(text) });
  const block = (await untilStop(spawn, signal))?.value;
  info(rt, block ? `history is cleared; agentSpawn: ${block.block}` : "history is cleared");
}

async function render(rt: Runtime, config: AgentConfig, stop: AbortSignal): Promise<string> {
  const plain = plainPrompt("config", config, foldersOf(rt));
  if (plain !== undefined) return plain;
  const env = Object.fromEntries(rt.session.env);
  const { cwd, prime } = rt;
  const signal = AbortSignal.any([stop, AbortSignal.timeout(limits.render)]);
  const by = { session: rt.session.id, agent: rt.id, depth: rt.turn?.depth ?? 0 };
  return rt.deps.prompts.render(config.prompt, { cwd, env, prime, signal, by });
}
