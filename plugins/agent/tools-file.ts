/** `tools`, `tool_load`, `tool_unload`: what an agent has loaded. */
import { basename } from "node:path";
import { NineError } from "#core";
import { allowed, measure } from "./context.ts";
import { record } from "./lines.ts";
import type { Runtime } from "./runtime.ts";

export const printTools = (rt: Runtime): string => rt.tools.map((name) => `${name}\n`).join("");

/** Names apart by white space. All are checked before the first is loaded. Throws NineError. */
export function loadTools(rt: Runtime, what: string, text: string): Promise<void> {
  const wanted = words(text);
  if (wanted.length === 0) throw new NineError(`${what}: no tool name`);
  for (const name of wanted) {
    if (!rt.deps.tools.get(name)) throw new NineError(`${what}: ${unknownTool(rt, name)}`);
    if (!allowed(rt, name)) throw new NineError(`${what}: tool ${name} is not allowed by config ${rt.agent}`);
  }
  return set(rt, [...new Set([...rt.tools, ...wanted])]);
}

function unknownTool({ deps: { tools } }: Runtime, name: string): string {
  const bad = tools.bad().find(({ file }) => basename(file, ".meta") === name);
  if (bad) return `${name} can not be used: ${bad.reason}`;
  const names = tools.list().map((tool) => tool.name);
  return `unknown tool ${JSON.stringify(name.slice(0, 40))} (tools: ${names.join(" ")})`;
}

export function unloadTools(rt: Runtime, what: string, text: string): Promise<void> {
  const unwanted = words(text);
  for (const name of unwanted)
    if (!rt.tools.includes(name))
      throw new NineError(`${what}: tool ${JSON.stringify(name.slice(0, 40))} is not loaded`);
  return set(
    rt,
    rt.tools.filter((name) => !unwanted.includes(name)),
  );
}

function set(rt: Runtime, tools: string[]): Promise<void> {
  const written = record(rt, { kind: "set", values: { tools } });
  measure(rt);
  return written;
}

const words = (text: string): string[] => text.split(/\s+/).filter((word) => word !== "");
