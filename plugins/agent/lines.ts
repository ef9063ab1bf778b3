/**
 * Changes of an agent that outlive the daemon. A line is applied to the state and written to the journal in the same
 * tick; a restart applies the lines that are newer than the snapshot again, through the same function.
 */
import { messageOf } from "#core";
import type { Message } from "#plugins/backends";
import { type Outcome, settle } from "./history.ts";
import type { Runtime } from "./runtime.ts";
import { type Background, type Counted, fromSaved, type Prompt, type SavedMessage, type Settings } from "./saved.ts";
import type { Totals } from "./totals.ts";

export type Line =
  | { kind: "queued"; item: Prompt; front?: true }
  | { kind: "unqueued"; ids: string[] }
  | { kind: "raised"; id: string }
  | { kind: "inject"; item: Prompt }
  /** The unused inject becomes the next prompt. */
  | { kind: "deferred" }
  /** `took`: ids of what it is made of, gone from the queue or the inject slot. `ended`: numbers of processes whose end it tells. */
  | { kind: "message"; message: SavedMessage; took?: string[]; ended?: string[] | undefined }
  | { kind: "background"; process: Background }
  | { kind: "set"; values: Partial<Settings> }
  | { kind: "totals"; totals: Totals; counted?: Counted }
  | { kind: "held"; held: boolean }
  | { kind: "paused"; paused: boolean }
  | { kind: "cleared" };

/** The result of a call that had none when the daemon ended. */
export const interrupted = (): Outcome => ({
  content: "interrupted: the server ended while this call was running or waiting; it may have done part of its work",
  isError: true,
});

/** Changes the state. Gives the message that was stored, for lines of kind `message`. */
export function apply(rt: Runtime, line: Line): Message | undefined {
  switch (line.kind) {
    case "queued":
      rt.queue[line.front ? "unshift" : "push"](line.item);
      rt.last = line.item.text;
      return undefined;
    case "unqueued":
      remove(rt, line.ids);
      return undefined;
    case "raised": {
      const item = rt.queue.find(({ id }) => id === line.id);
      if (item) rt.queue = [item, ...rt.queue.filter((other) => other !== item)];
      return undefined;
    }
    case "inject":
      rt.inject = line.item;
      return undefined;
    case "deferred":
      if (rt.inject) rt.queue.unshift(rt.inject);
      rt.inject = undefined;
      return undefined;
    case "message":
      remove(rt, line.took ?? []);
      if (line.ended) rt.background = rt.background.filter(({ id }) => !line.ended?.includes(id));
      if (line.message.tool_calls?.length) rt.totals = { ...rt.totals, steps: rt.totals.steps + 1 };
      return store(rt, fromSaved(line.message));
    case "background":
      rt.background = [...rt.background, line.process];
      return undefined;
    case "set":
      Object.assign(rt, line.values);
      return undefined;
    case "totals":
      rt.totals = { ...rt.totals, ...line.totals };
      if (line.counted) rt.counted = line.counted;
      return undefined;
    case "held":
      rt.held = line.held;
      return undefined;
    case "paused":
      rt.paused = line.paused;
      return undefined;
    case "cleared":
      rt.history.clear();
      return undefined;
  }
}

function remove(rt: Runtime, ids: readonly string[]): void {
  if (rt.inject && ids.includes(rt.inject.id)) rt.inject = undefined;
  if (ids.length > 0) rt.queue = rt.queue.filter(({ id }) => !ids.includes(id));
}

function store(rt: Runtime, message: Message | undefined): Message | undefined {
  if (message?.role === "tool")
    return rt.history.result(message.toolCallId, { content: message.content, isError: message.isError === true });
  // Only a journal with missing lines leaves calls open here.
  settle(rt.history, interrupted);
  if (message?.role === "user") {
    rt.spawn = [];
    return rt.history.user(message.content);
  }
  if (message?.role !== "assistant") return undefined;
  return rt.history.reply(message.content, message.toolCalls ?? [], message.reasoning ?? []);
}

/** Applies `line` at once and resolves when it is on disk. A disk that refuses is told once; the work goes on in memory. */
export async function record(rt: Runtime, line: Line): Promise<void> {
  if (rt.dead) return;
  apply(rt, line);
  await kept(rt, "journal", rt.deps.sessions.journal(rt.session, { agent: rt.id, seq: ++rt.seq, ...line }));
}

/** Waits for the disk, and tells once where it refuses. */
export async function kept(rt: Runtime, what: string, written: Promise<unknown>): Promise<void> {
  try {
    await written;
    rt.unsaved = false;
  } catch (error) {
    // The event is published by sessions.
    if (!rt.unsaved) rt.chat.block("error", `${what}: ${messageOf(error)} (work goes on in memory)`);
    rt.unsaved = true;
  }
}
