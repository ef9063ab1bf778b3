/** What a request carries: system prompt, history, tool schemas; and how large that is. */
import { setImmediate as immediate } from "node:timers/promises";
import type { Message, ToolSchema } from "#plugins/backends";
import { offeredArgs, type Tool } from "#plugins/tools";
import { proseTokens } from "./estimate.ts";
import { limits } from "./limits.ts";
import type { Runtime } from "./runtime.ts";
import type { Counted } from "./saved.ts";
import { request } from "./types.ts";

/** The messages of the next request. The prefix is byte-equal from request to request. */
export async function requestOf(rt: Runtime): Promise<readonly Message[]> {
  const { messages } = rt.history;
  const all: readonly Message[] = rt.system === "" ? messages : [{ role: "system", content: rt.system }, ...messages];
  return rt.deps.call(request, all, rt.at);
}

/** For the file: a JSON object a line. Other work goes on between the pieces of a long one. */
export async function printContext(rt: Runtime): Promise<Uint8Array> {
  const all = await rt.deps.histories.read(rt, () => requestOf(rt));
  const pieces: Buffer[] = [];
  let piece = "";
  for (const message of await all) {
    piece += `${JSON.stringify(message)}\n`;
    if (piece.length < limits.piece) continue;
    pieces.push(Buffer.from(piece));
    piece = "";
    await immediate();
  }
  return Buffer.concat([...pieces, Buffer.from(piece)]);
}

/** Whether the config lets the agent have this tool. A deny wins. */
export function allowed(rt: Runtime, name: string): boolean {
  const { tools, allowTools, disallowTools } = rt.config;
  return tools && !disallowTools.includes(name) && (allowTools === undefined || allowTools.includes(name));
}

/** The loaded tools that are still on disk and allowed, in load order. */
export function loadedTools(rt: Runtime): Tool[] {
  if (rt.tools.length === 0) return [];
  // One look at the disk for all of them.
  const known = new Map(rt.deps.tools.list().map((tool) => [tool.name, tool]));
  return rt.tools.flatMap((name) => (allowed(rt, name) ? (known.get(name) ?? []) : []));
}

/** What the model reads of a tool, and an estimate of its size: a tool that changed is another object. */
const derived = new WeakMap<Tool, { schema: ToolSchema; tokens: number }>();

function deriving(tool: Tool): { schema: ToolSchema; tokens: number } {
  const known = derived.get(tool);
  if (known) return known;
  const { name, description, prompt = "", args } = tool;
  const schema = {
    name,
    description: prompt ? `${description}\n\n${prompt}` : description,
    parameters: offeredArgs(tool),
  };
  const tokens = proseTokens(name + description + prompt) + proseTokens(JSON.stringify(args));
  derived.set(tool, { schema, tokens });
  return { schema, tokens };
}

export const schemasOf = (tools: readonly Tool[]): ToolSchema[] => tools.map((tool) => deriving(tool).schema);

/** Asks for the model's window once per model; `ctxsz` follows. */
export async function learnWindow(rt: Runtime): Promise<void> {
  const { model } = rt.provider;
  if (rt.window?.model === model) return;
  // Set before the first wait: one question is enough.
  rt.window = { model, tokens: limits.context };
  const tokens = (await rt.provider.contextLength()) ?? limits.context;
  if (rt.provider.model !== model) return;
  rt.window = { model, tokens };
  measure(rt);
}

const providerOf = ({ provider }: Runtime): string => `${provider.name}/${provider.model}`;

/** A provider has told how many tokens its request had: once recorded, only what came since is estimated. */
export const countOf = (rt: Runtime, tools: readonly Tool[], tokens: number): Counted => ({
  provider: providerOf(rt),
  tokens,
  estimate: estimateOf(rt, tools),
});

/** Sets `ctxsz`. */
export function measure(rt: Runtime, tools: readonly Tool[] = loadedTools(rt)): void {
  const estimate = estimateOf(rt, tools);
  const count = rt.counted;
  // What has become smaller (it was cleared, tools were unloaded) is not what was counted.
  const holds = count && count.provider === providerOf(rt) && estimate >= count.estimate;
  const used = holds ? count.tokens + estimate - count.estimate : estimate;
  const limit = rt.window?.tokens ?? limits.context;
  rt.watch.set("ctxsz", `${used} / ${limit} (${Math.floor((used * 100) / limit)}%)`);
}

function estimateOf(rt: Runtime, tools: readonly Tool[]): number {
  return tools.reduce((sum, tool) => sum + deriving(tool).tokens, rt.history.tokens + proseTokens(rt.system));
}
