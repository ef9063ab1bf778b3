/** What happens between two steps of a turn: pauses, limits, messages of other agents, advice for a model that is stuck. */
import type { Planned } from "./dispatch.ts";
import type { ToolMessage } from "./history.ts";
import { record } from "./lines.ts";
import { Stopped, TurnFailed } from "./retry.ts";
import { fail, info, pathOf, publish, type Runtime, setState, type Turn, waiting } from "./runtime.ts";
import { toSaved } from "./saved.ts";
import { dollars } from "./totals.ts";

/** Waits as long as the agent is paused. */
export async function whilePaused(rt: Runtime, signal: AbortSignal): Promise<void> {
  while (rt.paused) {
    setState(rt, "paused");
    await new Promise<void>((wake) => {
      rt.wake.add(wake);
      signal.addEventListener("abort", () => wake(), { once: true });
    });
    if (signal.aborted) throw new Stopped("");
  }
}

/** Throws TurnFailed where the session has cost what it may. */
export function checkCost(rt: Runtime): void {
  const { maxCost } = rt.deps.options;
  if (maxCost === undefined || rt.deps.spent(rt.session) < maxCost) return;
  const text = `spending limit of ${dollars(maxCost)} is reached (raise OLLIE_MAX_SESSION_COST)`;
  fail(rt, text);
  throw new TurnFailed(text);
}

/** Before the last request of a turn, which offers no tools. */
export function announceLast(rt: Runtime, steps: number): void {
  const text = `step limit reached (${steps})`;
  info(rt, text);
  publish(rt, "steps", `E ${pathOf(rt)} ${text}`);
  tell(rt, `The limit of ${steps} tool rounds is reached. Answer now with what you have; no tool can be called.`);
}

/** Messages that other agents of the session sent meanwhile: they may wait for an answer, so they do not wait for the turn's end. */
export function takeMail(rt: Runtime, turn: Turn): void {
  for (const { id, from, text, depth } of waiting(rt).filter(({ mail }) => mail)) {
    rt.chat.block("user", text);
    tell(rt, `<agent-message from=${JSON.stringify(from)}>\n${text}\n</agent-message>`, [id]);
    turn.depth = Math.max(turn.depth, depth);
    turn.reads.drop();
  }
}

/** Advice of the guards after a round. Throws TurnFailed where they end the turn. */
export function advise(rt: Runtime, turn: Turn, text: string, planned: readonly Planned[]): void {
  const results = rt.history.messages.slice(-planned.length) as ToolMessage[];
  const { advice, end } = turn.guards.after({ text, calls: planned.map(({ call }) => call), results });
  if (end) {
    fail(rt, end);
    throw new TurnFailed(end);
  }
  if (advice.length === 0) return;
  for (const one of advice) info(rt, one.info);
  tell(rt, advice.map((one) => one.text).join("\n"));
}

function tell(rt: Runtime, content: string, took: string[] = []): void {
  void record(rt, { kind: "message", message: toSaved({ role: "user", content }), took });
}
