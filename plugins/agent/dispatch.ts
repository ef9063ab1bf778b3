/** The calls of one reply: checked, run as the scheduler allows, each with exactly one result. */
import { cutText, messageOf } from "#core";
import type { ToolCall } from "#plugins/backends";
import type { Job } from "#plugins/scheduler";
import { checkArgs, type Tool } from "#plugins/tools";
import type { ToolResult } from "#plugins/toolsrv";
import { parseArgs } from "./args.ts";
import { allowed } from "./context.ts";
import { tokensOf } from "./estimate.ts";
import { profilesOf } from "./grow.ts";
import type { Outcome } from "./history.ts";
import { limits } from "./limits.ts";
import { record } from "./lines.ts";
import { takeNews } from "./news.ts";
import { resourceOf } from "./resource.ts";
import { type Runtime, setState } from "./runtime.ts";
import { legalName, toSaved } from "./saved.ts";
import { untilStop, whoStopped } from "./stopping.ts";
import type { RawCall } from "./stream.ts";
import { isShown, type ToolOutput, toolOutput } from "./tool-output.ts";
import { type CallDraft, postTool, preTool } from "./types.ts";

/** A call that is ready to run, or the reason why it never will be. */
export interface Planned {
  call: ToolCall;
  tool: Tool | undefined;
  refusal: string | undefined;
}

/** Parses and checks; ids are made unique. `loaded`: the tools that were offered. `lengthCut`: the whole reply hit the output limit. */
export function plan(rt: Runtime, raw: readonly RawCall[], loaded: readonly Tool[], lengthCut: boolean): Planned[] {
  return raw.map(({ id, name, args: text, extra, cut }) => {
    const parsed = parseArgs(text);
    const args = "args" in parsed ? parsed.args : {};
    const call: ToolCall = {
      id: rt.history.mint(id),
      name: legalName(name),
      args,
      ...(extra ? { extra } : {}),
    };
    const tool = loaded.find((one) => one.name === name.trim());
    const refusal = (): string | undefined => {
      if (cut || lengthCut)
        return `${call.name}: not run: the output limit cut this call off (write less at once, or in several calls)`;
      if (name.trim() === "") return `the call names no tool (loaded tools: ${names(loaded)})`;
      if (!tool) return `${call.name}: ${missing(rt, call.name)} (loaded tools: ${names(loaded)})`;
      return "fault" in parsed ? `${call.name}: not run: ${parsed.fault}` : undefined;
    };
    return { call, tool, refusal: refusal() };
  });
}

const names = (tools: readonly Tool[]): string => tools.map((tool) => tool.name).join(" ") || "none";

function missing(rt: Runtime, name: string): string {
  if (!rt.deps.tools.get(name)) return "unknown tool";
  return allowed(rt, name) ? "tool is not loaded" : "tool is not allowed by the agent's config";
}

const notStarted = (signal: AbortSignal): Outcome => ({
  content: `not started: ${whoStopped(signal)} came before this call began`,
  isError: true,
});

/** Runs the calls of the reply that the history ends with. When it resolves each has its result. */
export async function runCalls(rt: Runtime, planned: readonly Planned[], signal: AbortSignal): Promise<void> {
  for (const { call } of planned) if (isShown(call.name)) rt.chat.call(call.name, JSON.stringify(call.args));
  const output = toolOutput(
    rt.chat,
    planned.map(({ call, tool }) => ({ tool: call.name, language: tool?.outputFormat })),
  );
  const jobs = planned.map(({ call, tool, refusal }, i): Job<Outcome> => {
    if (refusal !== undefined || !tool)
      return { scope: "read", run: async () => ({ content: `error: ${refusal}`, isError: true }) };
    const resource = resourceOf(tool, call.args, rt.cwd);
    return {
      scope: tool.scope,
      ...(resource ? { resource } : {}),
      run: () => guarded(rt, call, tool, i, output, signal),
    };
  });
  const results = rt.deps.scheduler.schedule(jobs, signal, () => notStarted(signal));
  await Promise.all(results.map(async (result, i) => finish(rt, planned[i] as Planned, i, await result, output)));
}

async function guarded(
  rt: Runtime,
  call: ToolCall,
  tool: Tool,
  i: number,
  output: ToolOutput,
  signal: AbortSignal,
): Promise<Outcome> {
  const calling = rt.turn?.calling ?? [];
  const show = () => setState(rt, calling[0] === undefined ? "thinking" : `calling: ${calling[0]}`);
  calling.push(call.name);
  show();
  try {
    return await run(rt, call, tool, i, output, signal);
  } catch (error) {
    return { content: `error: ${call.name}: ${messageOf(error)}`, isError: true };
  } finally {
    calling.splice(calling.indexOf(call.name), 1);
    show();
  }
}

async function run(
  rt: Runtime,
  call: ToolCall,
  tool: Tool,
  i: number,
  output: ToolOutput,
  signal: AbortSignal,
): Promise<Outcome> {
  const draft: CallDraft = { ...call, at: rt.at, signal };
  const gate = await untilStop(rt.deps.call(preTool, draft), signal);
  if (!gate) return notStarted(signal);
  if (gate.value) return { content: `error: ${gate.value.block || `${call.name} was blocked`}`, isError: true };
  const checked = checkArgs(tool, draft.args);
  if (!checked.ok) return { content: `error: ${checked.error}`, isError: true };
  const { args, timeout, background, sandbox } = checked;
  const work = () =>
    rt.deps.runner.call(
      {
        session: rt.session.id,
        agent: rt.id,
        sessionName: rt.session.name,
        agentName: rt.name,
        callId: call.id,
        tool: call.name,
        args,
        cwd: rt.cwd,
        env: Object.fromEntries(rt.session.env),
        timeout,
        background,
        profiles: profilesOf(rt),
        sandbox,
      },
      { signal, onOutput: (text) => output.write(i, text) },
    );
  const key = JSON.stringify([call.name, args, rt.cwd, sandbox]);
  // What runs beside the turn may change what is read.
  const alone = !background && rt.deps.runner.processes(rt.session.id, rt.id).every(({ end }) => end);
  if (!alone) rt.turn?.reads.drop();
  const result = await (rt.turn && alone ? rt.turn.reads.through(tool.scope, key, work) : work());
  const plain = { content: wording(result, signal), isError: result.status !== "ok", at: rt.at };
  const after = (await untilStop(rt.deps.call(postTool, plain, draft), signal))?.value ?? plain;
  return { content: capped(rt, after.content), isError: after.isError };
}

/** What the model reads. A call that was stopped is told from one that failed, and from one that was refused. */
function wording({ status, content }: ToolResult, signal: AbortSignal): string {
  if (status === "ok") return content;
  if (status === "cancelled")
    return `${signal.aborted ? `interrupted by ${whoStopped(signal)}` : "interrupted"}: ${content}`;
  return content.startsWith("error: ") ? content : `error: ${content}`;
}

/** Long results, and those that would take half of the window, are cut at a line. How to read on is said by the tools that can: it differs from one to another. */
function capped(rt: Runtime, content: string): string {
  const size = Buffer.byteLength(content);
  const half = (rt.window?.tokens ?? limits.context) / 2;
  // No text has more tokens than bytes.
  const share = size <= half ? size : Math.floor((size * half) / tokensOf(content));
  const max = Math.min(rt.deps.options.resultBytes || size, share);
  if (size <= max) return content;
  const text = cutText(content, max);
  const line = text.lastIndexOf("\n") + 1;
  const shown = line > 0 ? text.slice(0, line) : text;
  return `${shown.trimEnd()}\n(cut: the first ${Buffer.byteLength(shown)} of ${size} bytes; ask for less at once to see the rest)`;
}

/** Stores the result of one call as soon as it is there: on disk even while earlier calls still run. */
function finish(rt: Runtime, { call }: Planned, i: number, outcome: Outcome, output: ToolOutput): void {
  output.done(i, outcome.content);
  const { inject } = rt;
  // What a person says may be that something changed.
  if (inject) rt.turn?.reads.drop();
  const { texts, ended } = takeNews(rt);
  const content = [outcome.content, ...(inject ? [interruption(inject.text)] : []), ...texts].join("\n\n");
  void record(rt, {
    kind: "message",
    message: toSaved({
      role: "tool",
      toolCallId: call.id,
      name: call.name,
      content,
      ...(outcome.isError ? { isError: true } : {}),
    }),
    ...(inject ? { took: [inject.id] } : {}),
    ended,
  });
}

const interruption = (text: string): string =>
  `<system-user-interruption>\n${text.trim()}\n</system-user-interruption>`;
