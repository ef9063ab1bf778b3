/** An agent <-> its section of the session's file and its lines of the journal. */
import type { AgentConfig } from "#plugins/agent-config";
import type { Message } from "#plugins/backends";
import type { Growing, Session } from "#plugins/sessions";
import { makeAgent } from "./agent.ts";
import type { ChatMark } from "./chat-log.ts";
import { firstTools } from "./checks.ts";
import { measure } from "./context.ts";
import { type History, load, settle } from "./history.ts";
import { apply, interrupted, type Line } from "./lines.ts";
import { reconnect, unavailable } from "./provider.ts";
import { type Deps, info, type Runtime } from "./runtime.ts";
import { fromSaved, type SavedAgent, toSaved } from "./saved.ts";
import { withDefaults } from "./sound.ts";
import { usageText } from "./totals.ts";

/** JSON-able, whole. */
export function snapshotOf(rt: Runtime): SavedAgent {
  const { id, creator, depth, bounds, name, agent, backend, model, cwd } = rt;
  const { params, sandbox, tools, plan, feed, system, prime } = rt;
  return {
    ...rt.unknown,
    id,
    ...(creator ? { creator, depth, bounds: [...bounds] } : {}),
    ...{ name, agent, backend, model, cwd, params, sandbox, tools, plan, feed, system, prime },
    messages: growing(rt.history),
    tokens: rt.history.settled.tokens,
    usage: rt.totals,
    queue: rt.queue,
    held: rt.held,
    paused: rt.paused,
    ...(rt.inject ? { inject: rt.inject } : {}),
    spawn: rt.spawn,
    background: [...rt.background],
    last: rt.last,
    running: rt.turn !== undefined,
    seq: rt.seq,
    ...(rt.window ? { window: rt.window } : {}),
    ...(rt.counted ? { counted: rt.counted } : {}),
    chat: rt.turn ? { raw: 0, text: 0 } : rt.chat.text.mark(),
  };
}

function growing({ settled, unsettled, epoch }: History): Growing {
  const from = (at: number) => settled.from(at).map(toSaved);
  const open = unsettled.map(toSaved);
  return { length: settled.length, epoch, from, open, toJSON: () => [...from(0), ...open] };
}

/** A line of the journal with its address. `rested`: no turn is under way, and this is where both chats end. */
export type Addressed = (Line | { kind: "rested"; chat: ChatMark }) & { agent: string; seq: number };

const rested = new WeakMap<Runtime, number>();

/** What a snapshot would say that no line has said; undefined where nothing is new, or a turn is under way. */
export function restedLine(rt: Runtime): Addressed | undefined {
  if (rt.turn || rested.get(rt) === rt.seq) return undefined;
  const line: Addressed = { agent: rt.id, seq: ++rt.seq, kind: "rested", chat: rt.chat.text.mark() };
  rested.set(rt, rt.seq);
  return line;
}

/** Results of calls that a crash cut off. */
export type Repairs = readonly Extract<Message, { role: "tool" }>[];

/** Rebuilds an agent; it starts nothing. What was cut off is repaired, said in its chat, and told to `repaired`. */
export function restoreAgent(
  deps: Deps,
  session: Session,
  found: Partial<SavedAgent> & { id: string },
  lines: readonly Addressed[],
  repaired: (rt: Runtime, results: Repairs) => void,
): Runtime {
  const saved = withDefaults(found);
  for (const line of lines) if (line.kind === "rested") saved.chat = line.chat;
  const rt = makeAgent(deps, session, saved, { config: lost(saved), provider: unavailable(saved, "not asked yet") });
  const { messages } = saved;
  if ("open" in messages) rt.history.begin({ length: messages.length, tokens: saved.tokens });
  const here = "open" in messages ? messages.open : messages;
  const loaded = load(
    rt.history,
    here.flatMap((message) => fromSaved(message) ?? []),
    interrupted,
  );
  rt.queue = saved.queue;
  rt.inject = saved.inject;
  let running = saved.running;
  let missing = 0;
  for (const { agent: _, seq, ...line } of lines) {
    if (seq <= rt.seq) continue;
    missing += seq - rt.seq - 1;
    rt.seq = seq;
    if (line.kind === "rested") {
      running = false;
      continue;
    }
    apply(rt, line as Line);
    running ||= line.kind === "message" || line.kind === "queued" || line.kind === "inject";
  }
  rt.background = rt.background.map((one) => ({ ...one, lost: true }));
  const repairs = settle(rt.history, interrupted);
  const cut = loaded.repaired + repairs.length;
  if (rt.inject) apply(rt, { kind: "deferred" });
  if (rt.queue.length > 0) rt.held = true;
  rt.watch.set("state", rt.paused ? "paused" : "idle");
  rt.watch.set("usage", usageText(rt.totals));
  rt.watch.set("cwd", rt.cwd);
  if (rt.history.held > 0) deps.histories.used(rt);
  const notes = [
    running && rt.history.length > 0 ? "the server ended in the middle of a turn" : "",
    cut > 0 ? `${cut} ${cut === 1 ? "call was" : "calls were"} interrupted` : "",
    loaded.dropped > 0 ? `${loaded.dropped} messages of the saved history could not be used` : "",
    missing > 0 ? `${missing} changes are missing from the journal` : "",
    rt.held ? `${rt.queue.length} ${rt.queue.length === 1 ? "prompt waits" : "prompts wait"} (ctl resume)` : "",
  ].filter((note) => note !== "");
  if (notes.length > 0) {
    info(rt, `restored: ${notes.join("; ")}`);
    repaired(rt, repairs);
  }
  return rt;
}

/**
 * Behind `restoreAgent`, when all of its session are there: where they work decides what its config may have. The backend is
 * asked for meanwhile, so that nobody waits for it who only reads.
 */
export function reviveAgent(rt: Runtime, found: Partial<SavedAgent>): void {
  void reconnect(rt);
  // An older file knows neither: both are the config's, as for a new agent.
  if (!Array.isArray(found.tools)) rt.tools = firstTools(rt.deps.tools, rt.config);
  if (found.system === undefined) rt.stale = true;
  if (rt.history.length > 0) measure(rt);
}

/** Until the named config is found again: no tool beyond those that are loaded. */
const lost = ({ agent, tools }: SavedAgent): AgentConfig => ({
  name: agent,
  file: undefined,
  prompt: undefined,
  tools: true,
  autoLoad: [],
  allowTools: tools,
  disallowTools: [],
  maxSteps: 0,
  backend: undefined,
  model: undefined,
  params: {},
  hooks: {},
});
