/** Runs turns one after the other until nothing is left to do. Queueing, stopping and pausing decide what is next. */
import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import { messageOf, NineError } from "#core";
import type { Asker } from "./asker.ts";
import { guards } from "./guards.ts";
import { limits } from "./limits.ts";
import { kept, record } from "./lines.ts";
import { readCache } from "./read-cache.ts";
import { fail, info, type Runtime, setState, type Turn } from "./runtime.ts";
import type { Prompt } from "./saved.ts";
import { CreatorStopped, untilStop } from "./stopping.ts";
import { runTurn } from "./turn.ts";
import { postTurn, type TurnEnd } from "./types.ts";

/** Throws NineError where a prompt of `bytes` bytes can not be taken now. */
export function accepts(rt: Runtime, what: string, bytes: number, depth = 0): void {
  if (rt.dead || rt.closing) throw new NineError(`${what}: agent is dead`);
  if (bytes > limits.prompt) throw new NineError(`${what}: longer than its limit of ${limits.prompt} bytes`);
  if (rt.queue.length >= limits.queue) throw new NineError(`${what}: queue is full (${limits.queue} prompts)`);
  const queued = rt.queue.reduce((sum, { text }) => sum + Buffer.byteLength(text), bytes);
  if (queued > limits.queued)
    throw new NineError(`${what}: queue is full (limit of its texts: ${limits.queued} bytes)`);
  checkDepth(what, depth);
}

/** Throws NineError where hooks have caused one another too often. */
export function checkDepth(what: string, depth: number): void {
  if (depth > limits.depth)
    throw new NineError(`${what}: turns caused by hooks are ${limits.depth} deep (a user's prompt starts anew)`);
}

const prompt = (text: string, by: Asker, more: Pick<Prompt, "shown" | "mail"> = {}): Prompt => ({
  id: randomUUID().slice(0, 8),
  text: withoutEnd(text),
  ...by,
  ...more,
});

/** Newlines at the end, which `echo` and editors add, are no part of a prompt. (A regular expression would be quadratic.) */
function withoutEnd(text: string): string {
  let end = text.length;
  while (text[end - 1] === "\n") end--;
  return text.slice(0, end);
}

/**
 * Runs `text` now, or queues it while busy. Behind a stop it is what runs next, also while the stopped turn still ends.
 * `mail`: it comes from another agent; a turn under way takes it between two steps, and it does not lift the hold that a
 * stop has left.
 */
export async function submit(rt: Runtime, text: string, by: Asker, mail = false): Promise<void> {
  if (text.trim() === "") return;
  accepts(rt, "prompt", Buffer.byteLength(text), by.depth);
  const stopping = isStopped(rt.turn);
  const first = (!rt.running || rt.held || stopping) && !rt.paused && !(mail && (rt.held || stopping));
  if (first && rt.turn && stopping) rt.turn.goesOn = true;
  if (first && rt.held) void record(rt, { kind: "held", held: false });
  const item = prompt(text, by, mail ? { mail } : {});
  const written = record(rt, { kind: "queued", item, ...(first ? { front: true } : {}) });
  start(rt);
  await written;
}

/** Appends to the queue; it runs when its time comes. */
export async function enqueue(rt: Runtime, text: string, by: Asker): Promise<void> {
  if (text.trim() === "") return;
  accepts(rt, "fifo", Buffer.byteLength(text), by.depth);
  const written = record(rt, { kind: "queued", item: prompt(text, by) });
  start(rt);
  await written;
}

/** Rides on the next tool result of the turn under way; without a turn, and behind its stop, it is a prompt. */
export async function inject(rt: Runtime, text: string, by: Asker): Promise<void> {
  if (text.trim() === "") return;
  accepts(rt, "inject", Buffer.byteLength(text), by.depth);
  if (!rt.turn || rt.turn.controller.signal.aborted) return submit(rt, text, by);
  if (rt.inject) return enqueue(rt, text, by);
  rt.chat.block("user", text);
  await record(rt, { kind: "inject", item: prompt(text, by, { shown: true }) });
}

/** Starts what waits, where something does and nothing runs. `state` is `thinking` when this returns. */
export function start(rt: Runtime): void {
  if (rt.running || !mayRun(rt) || rt.queue.length === 0) return;
  setState(rt, "thinking");
  const turn = newTurn(rt);
  rt.running = drive(rt, turn).catch((error) => {
    // `drive` handles what can go wrong; this is a fault of ours, and the agent must not hang in `thinking`.
    fail(rt, messageOf(error));
    rt.turn = undefined;
    rt.running = undefined;
    setState(rt, "idle");
  });
}

function newTurn(rt: Runtime): Turn {
  const [item] = rt.queue;
  const controller = new AbortController();
  // Each call of a reply listens while it runs, however many they are.
  setMaxListeners(0, controller.signal);
  rt.turn = {
    controller,
    depth: item?.depth ?? 0,
    item: item?.id ?? "",
    errand: item?.errand,
    goesOn: false,
    calling: [],
    reads: readCache(),
    guards: guards(),
  };
  return rt.turn;
}

async function drive(rt: Runtime, first: Turn): Promise<void> {
  let turn: Turn | undefined = first;
  for (;;) {
    for (let item = rt.queue[0]; item && mayRun(rt); item = rt.queue[0]) {
      turn ??= newTurn(rt);
      turn.depth = item.depth;
      turn.item = item.id;
      turn.errand = item.errand;
      await oneTurn(rt, turn, item);
      turn = undefined;
    }
    rt.turn = undefined;
    rt.chat.end();
    await rt.chat.raw.flush();
    await kept(rt, "save", rt.deps.sessions.save(rt.session));
    // What came while saving is done before anybody is told that nothing is left.
    if (rt.queue.length > 0 && mayRun(rt)) continue;
    rt.running = undefined;
    rt.deps.histories.used(rt);
    setState(rt, rt.paused ? "paused" : "idle");
    return;
  }
}

/** A stop ends it, and nothing has come since that lets the queue go on. */
const isStopped = (turn: Turn | undefined): boolean => turn?.controller.signal.aborted === true && !turn.goesOn;

const mayRun = (rt: Runtime): boolean => !rt.held && !rt.paused && !rt.closing;

async function oneTurn(rt: Runtime, turn: Turn, item: Prompt): Promise<void> {
  setState(rt, "thinking");
  const ending = await runTurn(rt, turn, item);
  const texts = ending === "ok" ? await afterTurn(rt, turn) : [];
  // Last one first: each goes in front of what waits. Order: continuations of hooks, the unused inject, the queue.
  if (rt.inject) await record(rt, { kind: "deferred" });
  for (const next of texts.reverse()) await record(rt, { kind: "queued", item: next, front: true });
  if (isStopped(turn) && rt.queue.length > 0) await record(rt, { kind: "held", held: true });
}

async function afterTurn(rt: Runtime, { depth, controller: { signal } }: Turn): Promise<Prompt[]> {
  const next: Prompt[] = [];
  const end: TurnEnd = {
    at: rt.at,
    depth,
    signal,
    next(text) {
      if (text.trim() === "") return;
      if (depth + 1 > limits.depth)
        info(rt, `a hook's next prompt was dropped: turns of hooks are ${limits.depth} deep`);
      else next.push(prompt(text, { from: "hook", depth: depth + 1 }));
    },
  };
  const block = (await untilStop(rt.deps.call(postTurn, end), signal))?.value;
  if (block) end.next(block.block);
  return next;
}

/**
 * Runs `work` where nothing else runs, and then what came in the meantime. A stop ends the wait for it. Throws NineError
 * while a turn is under way, and when it was stopped.
 */
export async function alone<T>(rt: Runtime, state: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  if (rt.running) throw new NineError("agent is running (stop it first)");
  setState(rt, state);
  const controller = new AbortController();
  rt.stoppable.add(controller);
  const result = untilStop(work(controller.signal), controller.signal);
  rt.running = result.then(
    () => {},
    () => {},
  );
  try {
    const done = await result;
    if (!done) throw new NineError("it was stopped");
    return done.value;
  } finally {
    rt.stoppable.delete(controller);
    rt.running = undefined;
    start(rt);
    if (!rt.running) setState(rt, rt.paused ? "paused" : "idle");
  }
}

/**
 * Ends the turn under way and all else that runs for the agent; false where nothing does. What waits is held. Agents that it
 * made and asked in this turn are interrupted, too; what they do for others, or for an earlier turn, goes on.
 */
export function interrupt(rt: Runtime, reason: Error): boolean {
  const running = [...rt.stoppable, ...(rt.turn ? [rt.turn.controller] : [])];
  const asked = rt.turn ? rt.deps.children(rt).filter(({ turn }) => turn?.errand === rt.turn?.item) : [];
  if (rt.turn) rt.turn.goesOn = false;
  if (rt.turn && rt.paused && !rt.closing) setPaused(rt, false);
  // Behind work of ctl, and while a run of turns ends, what waits would come next.
  if (!rt.turn && rt.running && rt.queue.length > 0) void record(rt, { kind: "held", held: true });
  for (const controller of running) controller.abort(reason);
  for (const child of asked) interrupt(child, new CreatorStopped());
  return running.length > 0;
}

export function pause(rt: Runtime): void {
  setPaused(rt, true);
  if (!rt.running) setState(rt, "paused");
}

/** Goes on after pause and with a held queue; with one that a stop is about to hold, too. */
export function resume(rt: Runtime): void {
  setPaused(rt, false);
  if (rt.turn && isStopped(rt.turn)) rt.turn.goesOn = true;
  if (rt.held) void record(rt, { kind: "held", held: false });
  rt.wake.wakeAll();
  start(rt);
  if (!rt.running) setState(rt, "idle");
}

function setPaused(rt: Runtime, paused: boolean): void {
  if (rt.paused !== paused) void record(rt, { kind: "paused", paused });
}
