/** Makes an agent from `key=value` wishes: everything is checked first, and nothing is left half-made. */
import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { NineError } from "#core";
import { checkName, type Session } from "#plugins/sessions";
import { makeAgent } from "./agent.ts";
import { checkCwd, firstTools } from "./checks.ts";
import { takeConfig } from "./config.ts";
import { boundsBelow, checkChild, plainPrompt } from "./grow.ts";
import { limits } from "./limits.ts";
import { kept } from "./lines.ts";
import { snapshotOf } from "./persist.ts";
import { type Deps, pathOf, publish, type Runtime } from "./runtime.ts";
import { noTotals } from "./totals.ts";
import { agentSpawn } from "./types.ts";

export interface Wishes {
  cwd?: string;
  backend?: string;
  model?: string;
  agent?: string;
  name?: string;
}

export const wishKeys = ["name", "cwd", "backend", "model", "agent"] as const;

export interface Among {
  /** Names of the session's agents, and of those being made. */
  names: Set<string>;
  /** The session's agents. */
  others: readonly Runtime[];
  /** The agent that asks; undefined: a person does. */
  creator: Runtime | undefined;
  /** It is one of them from now on. */
  add: (rt: Runtime) => void;
}

export async function createAgent(
  deps: Deps,
  session: Session,
  wishes: Wishes,
  { names, others, creator, add }: Among,
): Promise<Runtime> {
  const what = "agent/new";
  const id = randomUUID();
  const name = checkName(wishes.name ?? id.slice(0, 8), what);
  if (wishes.cwd === undefined) throw new NineError(`${what}: cwd is missing (keys: ${wishKeys.join(" ")})`);
  const cwd = checkCwd(what, wishes.cwd);
  if (creator) checkChild(what, cwd, creator);
  if (names.has(name)) throw new NineError(`${what}: name ${JSON.stringify(name)} is taken`);
  if (names.size >= limits.agents) throw new NineError(`${what}: a session has at most ${limits.agents} agents`);
  // Reserved before the first wait: two requests at once can not both have it.
  names.add(name);
  let file: string | undefined;
  try {
    const config = deps.configs.load(wishes.agent ?? "default");
    const backend = wishes.backend ?? config.backend;
    const model = wishes.model ?? config.model;
    const provider = await deps.backends.create({
      ...(backend ? { backend } : {}),
      ...(model ? { model } : {}),
      check: true,
    });
    const prime = deps.prompts.prime(cwd);
    const env = Object.fromEntries(session.env);
    const makers = creator ? [...others, creator] : others;
    const plain = plainPrompt(what, config, [cwd, ...makers.map((maker) => maker.cwd)]);
    const by = { session: session.id, agent: id, depth: creator?.turn?.depth ?? 0 };
    const at = { cwd, env, prime, signal: AbortSignal.timeout(limits.render), by };
    const system = plain ?? (await deps.prompts.render(config.prompt, at));
    file = deps.sessions.file(session, `${id}.chat`);
    const rt = makeAgent(
      deps,
      session,
      {
        ...{ id, name, cwd, prime, system, agent: config.name, backend: provider.name, model: provider.model },
        ...(creator ? { creator: creator.id, depth: creator.depth + 1, bounds: boundsBelow(creator) } : {}),
        ...{
          params: config.params,
          sandbox: config.sandbox ?? "",
          tools: firstTools(deps.tools, config),
          plan: "",
          feed: "",
        },
        ...{
          usage: noTotals(),
          held: false,
          paused: false,
          spawn: [],
          background: [],
          last: "",
          running: false,
          seq: 0,
          chat: { raw: 0, text: 0 },
        },
      },
      { config, provider },
    );
    const block = await deps.call(agentSpawn, { at: rt.at, inject: (text) => void rt.spawn.push(text) });
    if (block) throw new NineError(`${what}: ${block.block}`);
    // Whoever ends ends what it made, which is not there yet.
    if (session.dead || creator?.closing || creator?.session.dead)
      throw new NineError(`${what}: the agent that asks, or the session, has ended`);
    // In one tick: a snapshot taken from now on holds the agent and does without the line.
    add(rt);
    await kept(rt, "journal", deps.sessions.journal(session, { agent: id, kind: "created", state: snapshotOf(rt) }));
    publish(rt, "new", `A new ${pathOf(rt)}`);
    takeConfig(rt, config);
    return rt;
  } catch (error) {
    names.delete(name);
    if (file) await rm(file, { force: true });
    throw error;
  }
}
