/** `cfg`: settings as key=value lines. A write is checked as a whole before any of it counts. */
import { messageOf, NineError } from "#core";
import type { Params } from "#plugins/backends";
import { checkCwd } from "./checks.ts";
import { record } from "./lines.ts";
import { alone } from "./loop.ts";
import { changeConfig } from "./refresh.ts";
import type { Runtime } from "./runtime.ts";
import { mustRest, setBackend, setCwd, setModel } from "./settings.ts";

type Kind = "integer" | "number" | "boolean" | "text" | "list";

const params: Readonly<Record<keyof Params, Kind>> = {
  maxTokens: "integer",
  maxCompletionTokens: "integer",
  temperature: "number",
  topP: "number",
  topK: "integer",
  minP: "number",
  topA: "number",
  frequencyPenalty: "number",
  presencePenalty: "number",
  repetitionPenalty: "number",
  reasoning: "integer",
  reasoningEffort: "text",
  includeReasoning: "boolean",
  responseFormat: "text",
  stop: "list",
};

const settings = ["backend", "model", "agent", "cwd"] as const;
const keys = [...settings, ...Object.keys(params)];

export function printCfg(rt: Runtime): string {
  const rows: [string, unknown][] = [
    ["state", rt.watch.get("state")],
    ["backend", rt.provider.name],
    ["model", rt.provider.model],
    ["agent", rt.agent],
    ["cwd", rt.cwd],
    ...Object.keys(params).map((key): [string, unknown] => [key, rt.params[key as keyof Params]]),
  ];
  return rows
    .map(([key, value]) => `${key}=${Array.isArray(value) ? JSON.stringify(value) : (value ?? "")}\n`)
    .join("");
}

/** Lines that are left out stay as they are; an empty value resets a parameter and skips a setting; state is ignored. */
export async function writeCfg(rt: Runtime, text: string): Promise<void> {
  const given = parse(text);
  const changed = new Map([...given].filter(([key, value]) => value !== current(rt, key)));
  const next: Record<string, unknown> = { ...rt.params };
  for (const [key, value] of changed) {
    if (!(key in params)) continue;
    if (value === "") delete next[key];
    else next[key] = parsed(key, params[key as keyof Params], value);
  }
  const wish = (key: (typeof settings)[number]) => changed.get(key) || undefined;
  const [backend, model, agent, cwd] = settings.map(wish);
  if (cwd) checkCwd("cfg", cwd);
  if (agent) rt.deps.configs.load(agent);
  if ([...changed.keys()].some((key) => key !== "cwd" && key !== "model")) mustRest(rt);
  if (backend) await setBackend(rt, backend);
  if (agent) await alone(rt, "connecting", (signal) => changeConfig(rt, agent, signal));
  if (model) await setModel(rt, model);
  if (cwd) await setCwd(rt, "cfg", cwd);
  if ([...changed.keys()].some((key) => key in params))
    await record(rt, { kind: "set", values: { params: next as Params } });
}

const current = (rt: Runtime, key: string): string | undefined =>
  printCfg(rt)
    .split("\n")
    .find((line) => line.startsWith(`${key}=`))
    ?.slice(key.length + 1);

function parse(text: string): Map<string, string> {
  const given = new Map<string, string>();
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const [, key = "", value = ""] = /^\s*([^=]*?)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (key === "state") continue;
    if (!keys.includes(key))
      throw new NineError(
        `cfg: unknown key ${JSON.stringify((key || line.trim()).slice(0, 40))} (keys: ${keys.join(" ")})`,
      );
    given.set(key, value);
  }
  return given;
}

function parsed(key: string, kind: Kind, text: string): unknown {
  const bad = (wanted: string) =>
    new NineError(`cfg: ${key} must be ${wanted}, not ${JSON.stringify(text.slice(0, 40))}`);
  switch (kind) {
    case "integer":
      if (!/^\d{1,15}$/.test(text)) throw bad("a whole number");
      return Number(text);
    case "number":
      if (!Number.isFinite(Number(text))) throw bad("a number");
      return Number(text);
    case "boolean":
      if (text !== "true" && text !== "false") throw bad("true or false");
      return text === "true";
    case "list":
      return listOf(text, bad);
    case "text":
      return text;
  }
}

function listOf(text: string, bad: (wanted: string) => NineError): string[] {
  try {
    const list: unknown = JSON.parse(text);
    if (Array.isArray(list) && list.every((item) => typeof item === "string")) return list;
  } catch (error) {
    throw bad(`a JSON array of strings (${messageOf(error)})`);
  }
  throw bad("a JSON array of strings");
}
