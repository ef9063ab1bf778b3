/** Makes an agent: its runtime and the face that others see. */
import { type Logger, waiters } from "#core";
import type { AgentConfig } from "#plugins/agent-config";
import type { Backend } from "#plugins/backends";
import type { Session } from "#plugins/sessions";
import { chat } from "./chat.ts";
import { history } from "./history.ts";
import { enqueue, inject, interrupt, pause, resume, submit } from "./loop.ts";
import { type Deps, pathOf, publish, type Runtime, register, waiting } from "./runtime.ts";
import type { SavedAgent } from "./saved.ts";
import { watch } from "./state.ts";
import { Going } from "./stopping.ts";
import { noTotals } from "./totals.ts";
import type { Agent } from "./types.ts";

/** An agent of `saved`'s settings, idle, with an empty history and queue. */
export function makeAgent(
  deps: Deps,
  session: Session,
  saved: Omit<SavedAgent, "messages" | "tokens" | "queue">,
  parts: { config: AgentConfig; provider: Backend },
): Runtime {
  const { id, creator, depth = 0, bounds = [], usage, chat: mark } = saved;
  const known = new Set([...fields, "messages", "tokens", "queue"]);
  const unknown = Object.fromEntries(Object.entries(saved).filter(([key]) => !known.has(key)));
  const log: Logger = deps.log.child({ agent: id });
  const rt: Runtime = {
    deps: { ...deps, log },
    id,
    session,
    creator,
    depth,
    bounds,
    ...parts,
    name: saved.name,
    agent: saved.agent,
    backend: saved.backend,
    model: saved.model,
    cwd: saved.cwd,
    params: saved.params,
    sandbox: saved.sandbox,
    tools: saved.tools,
    plan: saved.plan,
    feed: saved.feed,
    system: saved.system,
    prime: saved.prime,
    history: history(),
    watch: watch({ state: saved.paused ? "paused" : "idle", usage: "", ctxsz: "no active session", cwd: saved.cwd }),
    chat: chat(deps.sessions.file(session, `${id}.chat`), mark, (error) => diskFault(rt, error)),
    totals: { ...noTotals(), ...usage },
    queue: [],
    inject: undefined,
    spawn: [...saved.spawn],
    background: saved.background,
    last: saved.last,
    held: saved.held,
    paused: saved.paused,
    closing: false,
    dead: false,
    turn: undefined,
    stoppable: new Set(),
    commands: new Set(),
    running: undefined,
    stale: false,
    seq: saved.seq,
    unsaved: false,
    wake: waiters(),
    feeds: waiters(),
    window: saved.window,
    counted: saved.counted,
    unknown,
    get face() {
      return face;
    },
    get at() {
      return at;
    },
  };
  const face = faceOf(rt);
  const at = { session, agent: face };
  register(rt);
  return rt;
}

const fields: (keyof SavedAgent)[] = [
  "id",
  "creator",
  "depth",
  "bounds",
  "name",
  "agent",
  "backend",
  "model",
  "cwd",
  "params",
  "sandbox",
  "tools",
  "plan",
  "feed",
  "system",
  "prime",
  "usage",
  "held",
  "paused",
  "inject",
  "spawn",
  "background",
  "last",
  "running",
  "seq",
  "chat",
  "window",
  "counted",
];

/** Told once per run of failures: the log goes on in memory. */
function diskFault(rt: Runtime, error: unknown): void {
  rt.deps.log.warn("chat can not be written", { error: String(error) });
  if (!rt.unsaved) publish(rt, "error", `E ${pathOf(rt)} chat: ${error instanceof Error ? error.message : error}`);
  rt.unsaved = true;
}

function faceOf(rt: Runtime): Agent {
  return {
    id: rt.id,
    session: rt.session,
    creator: rt.creator,
    get name() {
      return rt.name;
    },
    get state() {
      return rt.watch.get("state");
    },
    get cwd() {
      return rt.cwd;
    },
    get backend() {
      return rt.provider;
    },
    get config() {
      return rt.agent;
    },
    get params() {
      return rt.params;
    },
    get tools() {
      return rt.tools;
    },
    get plan() {
      return rt.plan;
    },
    get dead() {
      return rt.dead;
    },
    get queue() {
      return waiting(rt);
    },
    submit: (text, from, depth = 0) => submit(rt, text, { from, depth }),
    enqueue: (text, from, depth = 0) => enqueue(rt, text, { from, depth }),
    inject: (text, from) => inject(rt, text, { from, depth: 0 }),
    interrupt: (cause) => interrupt(rt, new Error(cause)),
    pause: () => pause(rt),
    resume: () => resume(rt),
    waitChange: (field, current, signal) => rt.watch.wait(field, current, signal),
    close: () => close(rt),
  };
}

/** Stops what runs and waits until it is at rest; nothing is started from then on. */
export async function rest(rt: Runtime): Promise<void> {
  rt.closing = true;
  interrupt(rt, new Going());
  await Promise.all([rt.running, ...rt.commands]);
  await rt.chat.raw.flush();
}

/** The end of this runtime: readers get their end, waiters wake. What is on disk stays. */
export async function close(rt: Runtime): Promise<void> {
  if (rt.dead) return;
  await rest(rt);
  rt.dead = true;
  rt.chat.end();
  rt.chat.raw.end();
  rt.watch.end();
  rt.feeds.wakeAll();
}
