/**
 * One turn: prompt -> reply -> calls -> results -> reply … until a reply has no calls. Nothing here waits for the disk:
 * journal lines are written in order beside the work, and the snapshot at the end waits for them all.
 */
import { messageOf } from "#core";
import type { ReasoningBlock, ToolCall } from "#plugins/backends";
import { learnWindow, loadedTools, measure } from "./context.ts";
import { plan, runCalls } from "./dispatch.ts";
import { profilesOf } from "./grow.ts";
import { limits } from "./limits.ts";
import { record } from "./lines.ts";
import { takeNews } from "./news.ts";
import { isMissing, reconnect } from "./provider.ts";
import { refresh } from "./refresh.ts";
import { getReply, Stopped, TurnFailed } from "./retry.ts";
import { fail, info, type Runtime, setState, type Turn } from "./runtime.ts";
import { type Prompt, toSaved } from "./saved.ts";
import { advise, announceLast, checkCost, takeMail, whilePaused } from "./step.ts";
import { untilStop } from "./stopping.ts";
import type { Reply } from "./stream.ts";
import { usedSince } from "./totals.ts";
import { preTurn, type TurnDraft } from "./types.ts";

/** `dropped`: a hook refused the prompt. */
export type TurnEnding = "ok" | "dropped" | "error" | "stopped";

/** Runs the turn of `item`, which stands in the queue. Never throws. Every call has its result when it resolves. */
export async function runTurn(rt: Runtime, turn: Turn, item: Prompt): Promise<TurnEnding> {
  const { signal } = turn.controller;
  const before = rt.totals;
  try {
    await recall(rt, signal);
    if (!(await begin(rt, item, signal))) return "dropped";
    if (signal.aborted) throw new Stopped("");
    await rounds(rt, turn);
    return "ok";
  } catch (error) {
    if (error instanceof Stopped) {
      storeReply(rt, error.text, [], []);
      info(rt, "stopped");
      return "stopped";
    }
    if (!(error instanceof TurnFailed)) {
      rt.deps.log.error("a turn failed", { agent: rt.id, error: error instanceof Error ? error.stack : String(error) });
      fail(rt, messageOf(error));
    }
    return signal.aborted ? "stopped" : "error";
  } finally {
    // Only a fault of ours, or of a scheduler, leaves one open.
    for (const { id, name } of rt.history.open) {
      const content = `error: ${name}: the call was lost`;
      void record(rt, {
        kind: "message",
        message: toSaved({ role: "tool", toolCallId: id, name, content, isError: true }),
      });
    }
    measure(rt);
    const used = usedSince(before, rt.totals);
    if (used) rt.chat.block("usage", used);
    rt.chat.end();
  }
}

/** The history has to be in memory. Where it can not be read the prompt waits, and it is said. */
async function recall(rt: Runtime, signal: AbortSignal): Promise<void> {
  try {
    await untilStop(rt.deps.histories.load(rt), signal);
  } catch (error) {
    void record(rt, { kind: "held", held: true });
    fail(rt, messageOf(error));
    throw new TurnFailed(messageOf(error));
  }
}

/** Stores the prompt. False: a hook refused it. */
async function begin(rt: Runtime, item: Prompt, signal: AbortSignal): Promise<boolean> {
  if (rt.stale) await refresh(rt, signal);
  if (isMissing(rt.provider)) await reconnect(rt);
  if (!item.shown) rt.chat.block("user", item.text);
  const added: string[] = [];
  const draft: TurnDraft = {
    at: rt.at,
    prompt: item.text,
    depth: item.depth,
    signal,
    inject: (text) => void added.push(text),
  };
  const block = (await untilStop(rt.deps.call(preTurn, draft), signal))?.value;
  if (block) {
    info(rt, `prompt dropped: ${block.block}`);
    void record(rt, { kind: "unqueued", ids: [item.id] });
    return false;
  }
  for (const text of rt.spawn) void record(rt, { kind: "message", message: toSaved({ role: "user", content: text }) });
  const { texts, ended } = takeNews(rt);
  const content = [[item.text, ...added].join("\n"), ...texts].join("\n\n");
  void record(rt, { kind: "message", message: toSaved({ role: "user", content }), took: [item.id], ended });
  void record(rt, { kind: "totals", totals: { ...rt.totals, costLast: 0, unpricedLast: 0 } });
  return true;
}

async function rounds(rt: Runtime, turn: Turn): Promise<void> {
  const { signal } = turn.controller;
  const { maxSteps } = rt.config;
  for (let round = 0; ; round++) {
    await whilePaused(rt, signal);
    checkCost(rt);
    if (round > 0) takeMail(rt, turn);
    const last = maxSteps > 0 && round >= maxSteps;
    if (last) announceLast(rt, maxSteps);
    const tools = last ? [] : loadedTools(rt);
    setState(rt, "thinking");
    void learnWindow(rt);
    if (tools.length > 0)
      rt.deps.runner.warm({ session: rt.session.id, agent: rt.id, cwd: rt.cwd, profiles: profilesOf(rt) });
    const reply = await getReply(rt, tools, signal);
    rt.chat.end();
    // To store a long reply takes a while: who reads along gets its end first.
    if (reply.text.length > limits.longReply) await rt.chat.raw.caughtUp(limits.readAlong);
    if (last || reply.calls.length === 0) return endOf(rt, reply);
    const planned = plan(rt, reply.calls, tools, reply.stop === "length");
    storeReply(
      rt,
      reply.text,
      planned.map(({ call }) => call),
      reply.reasoning,
    );
    await runCalls(rt, planned, signal);
    measure(rt, tools);
    if (signal.aborted) throw new Stopped("");
    advise(rt, turn, reply.text, planned);
  }
}

/** The reply that ends a turn. */
function endOf(rt: Runtime, reply: Reply): void {
  storeReply(rt, reply.text, [], reply.reasoning);
  const why = reply.raw || reply.stop;
  const failed = (text: string) => {
    fail(rt, text);
    return new TurnFailed(text);
  };
  if (reply.text.trim() === "") throw failed(`the model gave an empty reply (finish reason: ${why})`);
  if (reply.stop === "length") info(rt, "the reply was cut by the output limit");
  if (reply.stop === "content_filter" || (reply.stop === "other" && reply.raw))
    throw failed(`the model stopped: ${why}`);
}

function storeReply(rt: Runtime, text: string, calls: ToolCall[], reasoning: ReasoningBlock[]): void {
  if (text.trim() === "" && calls.length === 0) return;
  const message = toSaved({
    role: "assistant",
    content: text,
    ...(calls.length > 0 ? { toolCalls: calls } : {}),
    ...(reasoning.length > 0 ? { reasoning } : {}),
  });
  void record(rt, { kind: "message", message });
}
