/** What an agent can be told to do, in its ctl and as `/word` in a prompt. Without an argument most say what is. */
import { NineError } from "#core";
import { askerOf } from "./asker.ts";
import { alone, enqueue, inject, interrupt, pause, resume } from "./loop.ts";
import { printQueue } from "./queue-file.ts";
import { changeConfig, clear } from "./refresh.ts";
import type { AgentAt, Who } from "./rights.ts";
import type { Roster } from "./roster.ts";
import type { Runtime } from "./runtime.ts";
import { setBackend, setCwd, setModel } from "./settings.ts";
import { loadTools, printTools, unloadTools } from "./tools-file.ts";

export interface Entry {
  args: string;
  doc: string;
  /** Agents that may use it, beside the user. */
  agents?: readonly Who[];
  /** Refused while a turn runs, where it changes something. */
  rest?: true;
  run(rt: Runtime, arg: string, c: AgentAt): string | undefined | Promise<string | undefined>;
}

const self = ["self"] as const;
const creator = ["creator"] as const;

/** Runs `work` and gives no reply. */
const quietly = async (work: Promise<unknown>): Promise<undefined> => void (await work);

export const entries = (roster: Roster): Record<string, Entry> => ({
  stop: {
    args: "",
    doc: "ends the turn and what it runs, work of agents that it asked for included; the queue is held",
    agents: creator,
    run: (rt) => void interrupt(rt, new Error("stopped")),
  },
  pause: { args: "", doc: "finishes the present step, then waits", run: (rt) => pause(rt) as undefined },
  resume: { args: "", doc: "goes on after pause, and with a held queue", run: (rt) => resume(rt) as undefined },
  compact: { args: "", doc: "makes room in the context", agents: self, rest: true, run: compact },
  clear: {
    args: "",
    doc: "drops the history; id, chat and queue stay",
    rest: true,
    run: (rt) => quietly(alone(rt, "thinking", (signal) => clear(rt, signal))),
  },
  inject: {
    args: "TEXT",
    doc: "reaches the model with the next tool result",
    run: (rt, text, c) => quietly(inject(rt, text, askerOf(roster, c))),
  },
  queue: {
    args: "[TEXT]",
    doc: "queues a prompt; alone: the prompts that wait",
    run: (rt, text, c) => (text === "" ? printQueue(rt) : quietly(enqueue(rt, text, askerOf(roster, c)))),
  },
  agent: {
    args: "[NAME]",
    doc: "changes the config: its prompt, tools and parameters; drops the history",
    rest: true,
    run: (rt, name) =>
      name === "" ? `${rt.agent}\n` : quietly(alone(rt, "connecting", (signal) => changeConfig(rt, name, signal))),
  },
  model: {
    args: "[NAME]",
    doc: "the model of the next requests",
    run: (rt, name) => (name === "" ? `${rt.provider.model}\n` : quietly(setModel(rt, name))),
  },
  models: { args: "", doc: "the backend's models, the present one marked", agents: self, run: models },
  tools: { args: "", doc: "the loaded tools", agents: self, run: printTools },
  tool_load: {
    args: "NAME...",
    doc: "loads tools",
    agents: self,
    run: (rt, names) => quietly(loadTools(rt, "tool_load", names)),
  },
  tool_unload: {
    args: "NAME...",
    doc: "takes tools away",
    agents: self,
    run: (rt, names) => quietly(unloadTools(rt, "tool_unload", names)),
  },
  cwd: {
    args: "[DIR]",
    doc: "the directory that tools run in",
    run: (rt, dir) => (dir === "" ? `${rt.cwd}\n` : quietly(setCwd(rt, "cwd", dir))),
  },
  name: {
    args: "[NAME]",
    doc: "renames the agent",
    run: (rt, name) => (name === "" ? `${rt.name}\n` : quietly(roster.rename(rt, name))),
  },
  backend: { args: "[NAME]", doc: "changes the backend, with its default model", rest: true, run: backend },
  systemprompt: { args: "", doc: "the system prompt as the model gets it", run: (rt) => `${rt.system}\n` },
  kill: {
    args: "",
    doc: "ends the agent and those that it made, and drops what is saved of them",
    agents: creator,
    run: (rt) => quietly(roster.kill(rt)),
  },
});

async function compact(rt: Runtime): Promise<string> {
  const compactor = rt.deps.compactor();
  if (!compactor) throw new NineError("compact: no compaction plugin is loaded");
  return alone(rt, "compacting", async (signal) => {
    await rt.deps.histories.load(rt);
    return `${await compactor.compact(rt.at, "manual", signal)}\n`;
  });
}

async function backend(rt: Runtime, name: string): Promise<string> {
  if (name !== "") await setBackend(rt, name);
  return name === "" ? `${rt.provider.name}\n` : `${rt.provider.name} ${rt.provider.model}\n`;
}

async function models(rt: Runtime): Promise<string> {
  const [row] = await rt.deps.backends.models(rt.provider.name);
  if (row?.error) throw new NineError(`models: ${row.error}`);
  return (row?.models ?? []).map((name) => `${name === rt.provider.model ? "* " : "  "}${name}\n`).join("");
}
