/** The script backend: replies from a scenario. Each agent has its own place in it. */
import { readFile } from "node:fs/promises";
import { messageOf, NineError } from "#core";
import { type Backend, BackendError, type BackendFactory } from "#plugins/backends";
import { momentOf, pick } from "./moment.ts";
import { offline } from "./offline.ts";
import { inputOf, play } from "./play.ts";
import type { Scenario } from "./scenario.ts";

export interface ScriptOptions {
  /** Path of a YAML or JSON file, or the scenario itself. OLLIE_SCRIPT (a path) wins. Default: the built-in one. */
  scenario?: string | object | undefined;
  env?: NodeJS.ProcessEnv;
}

export function scriptBackend(options: ScriptOptions = {}): BackendFactory {
  const env = options.env ?? process.env;
  /** Places of shared scenarios, by where they came from. */
  const shared = new Map<string, Map<number, number>>();
  const source = () => env.OLLIE_SCRIPT || options.scenario;
  return {
    name: "script",
    credentials: [],
    defaultModel: "offline",
    async available() {
      const from = source();
      if (from === undefined) return { ok: true, why: "the offline script: always there, but no model" };
      return { ok: true, why: `replies from ${typeof from === "string" ? from : "the scenario in the config"}` };
    },
    async create({ model }) {
      const from = source();
      const scenario = from === undefined ? offline : await load(from);
      const key = typeof from === "string" ? from : "config";
      const used = scenario.shared ? (shared.get(key) ?? new Map<number, number>()) : new Map<number, number>();
      if (scenario.shared) shared.set(key, used);
      return scripted(scenario, used, model || "offline");
    },
    async refuses(model) {
      const from = source();
      const names = modelsOf(from === undefined ? offline : await load(from));
      if (model === "offline" || names.includes(model)) return undefined;
      return `script: unknown model ${JSON.stringify(model)} (models: ${names.slice(0, 3).join(" ")})`;
    },
  };
}

const modelsOf = (scenario: Scenario): string[] => [...new Set(scenario.models ?? [scenario.model ?? "script"])].sort();

async function load(from: string | object): Promise<Scenario> {
  const { checkScenario } = await import("./schema.ts");
  if (typeof from !== "string") return checkScenario(from, "scenario");
  let value: unknown;
  try {
    const text = await readFile(from, "utf8");
    value = from.endsWith(".json") ? JSON.parse(text) : (await import("yaml")).parse(text);
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === "ENOENT";
    throw new NineError(`scenario ${from}: ${missing ? "file not found" : messageOf(error).split("\n")[0]}`);
  }
  return checkScenario(value, `scenario ${from}`);
}

function scripted(scenario: Scenario, used: Map<number, number>, initial: string): Backend {
  let model = initial === "offline" ? (scenario.model ?? "script") : initial;
  return {
    name: "script",
    get model() {
      return model;
    },
    setModel(name) {
      model = name;
    },
    async *chatStream(messages, tools, _params, signal) {
      signal.throwIfAborted();
      const moment = momentOf(messages, tools, model);
      const reply = pick(scenario, used, moment);
      if (!reply)
        throw new BackendError(
          "badRequest",
          `script: no reply of the scenario fits or is left (prompt ${JSON.stringify(moment.prompt.slice(0, 60))}, ${moment.results.length} tool results)`,
        );
      yield* play(reply, scenario, moment, inputOf(messages, tools), signal);
    },
    contextLength: async () => scenario.contextLength,
    models: async () => modelsOf(scenario),
  };
}
