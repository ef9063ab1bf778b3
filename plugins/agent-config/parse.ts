/** From the text of an agent's config file to a config: every key checked, each error one sentence that names file and key. */
import { messageOf, NineError } from "#core";
import type { Params } from "#plugins/backends";
import type { AgentConfig } from "./types.ts";

/** A checker gives the value, or undefined where the value has the wrong type. */
type Check<T> = { readonly is: string; readonly read: (value: unknown) => T | undefined };

const string: Check<string> = { is: "a string", read: (v) => (typeof v === "string" ? v : undefined) };
const boolean: Check<boolean> = { is: "true or false", read: (v) => (typeof v === "boolean" ? v : undefined) };
const number: Check<number> = { is: "a number", read: (v) => (typeof v === "number" ? v : undefined) };
const count: Check<number> = {
  is: "a whole number from 0",
  read: (v) => (Number.isSafeInteger(v) && (v as number) >= 0 ? (v as number) : undefined),
};
const strings: Check<string[]> = {
  is: "a list of strings",
  read: (v) => (Array.isArray(v) && v.every((item) => typeof item === "string") ? v : undefined),
};
const oneOrMore: Check<string | string[]> = {
  is: "a string or a list of strings",
  read: (v) => string.read(v) ?? strings.read(v),
};
const record: Check<Record<string, unknown>> = {
  is: "an object",
  read: (v) => (typeof v === "object" && v !== null && !Array.isArray(v) ? (v as Record<string, unknown>) : undefined),
};

const params: { readonly [K in keyof Params]-?: Check<NonNullable<Params[K]>> } = {
  maxTokens: count,
  maxCompletionTokens: count,
  temperature: number,
  topP: number,
  topK: count,
  minP: number,
  topA: number,
  frequencyPenalty: number,
  presencePenalty: number,
  repetitionPenalty: number,
  reasoning: count,
  reasoningEffort: string,
  includeReasoning: boolean,
  responseFormat: string,
  stop: strings,
};

/** Older names of hooks that lived on; preClear and postClear did not. */
const hookNames = new Map([
  ["userPromptSubmit", "preTurn"],
  ["stop", "postTurn"],
]);

/** Reads `text` of `file` as the config of agent `name`. Throws NineError. */
export function parseConfig(name: string, file: string, text: string): AgentConfig {
  const bad = (why: string) => new NineError(`agent ${name}: ${why} (${file})`);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    // Without the snippet: where a tool put a link, it would be of the file that this leads to.
    throw bad(`broken JSON: ${messageOf(error).replace(/, (\.\.\.)?".*$/s, "")}`);
  }
  const value = record.read(json);
  if (!value) throw bad("the file has to hold one JSON object");

  /** Keys that somebody asked for: what is left over has no effect. */
  const asked = new Set(["$schema"]);
  const get = <T>(key: string, check: Check<T>, from = value): T | undefined => {
    if (from === value) asked.add(key);
    const found = Object.hasOwn(from, key) ? from[key] : undefined;
    if (found === undefined || found === null) return undefined;
    const read = check.read(found);
    if (read === undefined) throw bad(`key "${key}" has to be ${check.is}`);
    return read;
  };

  const hooks: Record<string, string[]> = {};
  for (const [event, commands] of Object.entries(get("hooks", record) ?? {})) {
    const read = oneOrMore.read(commands);
    if (read === undefined) throw bad(`key "hooks.${event}" has to be ${oneOrMore.is}`);
    const known = hookNames.get(event) ?? event;
    hooks[known] = [...(hooks[known] ?? []), ...[read].flat()];
  }

  const sandbox = get("sandbox", string);
  const widening = ["hooks", "sandbox", "bypass"].filter((key) => Object.hasOwn(value, key) && value[key] !== null);

  const config: AgentConfig = {
    name,
    file,
    prompt: get("prompt", oneOrMore) ?? get("prompts", oneOrMore),
    tools: get("tools", boolean) ?? true,
    autoLoad: get("autoLoad", strings) ?? [],
    allowTools: get("allowTools", strings),
    disallowTools: get("disallowTools", strings) ?? [],
    maxSteps: get("maxSteps", count) ?? 0,
    backend: get("backend", string) || undefined,
    model: get("model", string) || undefined,
    params: Object.fromEntries(
      Object.entries(params).flatMap(([key, check]) => {
        const read = get<unknown>(key, check);
        return read === undefined ? [] : [[key, read]];
      }),
    ),
    hooks,
    ...(sandbox ? { sandbox } : {}),
    ...(widening.length > 0 ? { widening } : {}),
  };
  const idle = Object.keys(value).filter((key) => !asked.has(key));
  if (idle.length === 0) return config;
  const keys = idle.map((key) => JSON.stringify(key)).join(", ");
  return {
    ...config,
    warning: `${idle.length > 1 ? "keys" : "key"} ${keys} ${idle.length > 1 ? "have" : "has"} no effect (${file})`,
  };
}
