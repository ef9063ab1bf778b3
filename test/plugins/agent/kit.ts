/** A kernel with the real agent, sessions, scheduler and events, and a model and tools of the test's own. */
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import {
  createKernel,
  definePlugin,
  type Kernel,
  type Logger,
  NineError,
  type PluginApi,
  silent,
  type Use,
} from "#core";
import type { Agent } from "#plugins/agent";
import { Agents, Compactor } from "#plugins/agent";
import { type AgentConfig, AgentConfigs } from "#plugins/agent-config";
import { Backends } from "#plugins/backends";
import { Events } from "#plugins/events";
import { Prompts } from "#plugins/prompts";
import { Sessions } from "#plugins/sessions";
import { type BadTool, type Tool, Tools } from "#plugins/tools";
import { type ToolProcess, type ToolRequest, type ToolResult, ToolRunner } from "#plugins/toolsrv";
import { chatFilter } from "../../../plugins/agent/chat-filter.ts";
import agentPlugin from "../../../plugins/agent/index.ts";
import events from "../../../plugins/events/index.ts";
import scheduler from "../../../plugins/scheduler/index.ts";
import sessions from "../../../plugins/sessions/index.ts";
import { type Model, scriptedModel } from "./model.ts";

export function tempDir(): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "ollie-agent-")));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

export const tool = (name: string, more: Partial<Tool> = {}): Tool => ({
  name,
  description: `The tool ${name}.`,
  args: { type: "object", additionalProperties: true },
  scope: "read",
  tier: "warm",
  readOnly: true,
  exact: false,
  sudo: false,
  timeout: 30,
  exec: `/tools/${name}`,
  meta: `/tools/${name}.meta`,
  ...more,
});

export const config = (more: Partial<AgentConfig> = {}): AgentConfig => ({
  name: "default",
  file: undefined,
  prompt: "You are a test.",
  tools: true,
  autoLoad: [],
  allowTools: undefined,
  disallowTools: [],
  maxSteps: 0,
  backend: undefined,
  model: undefined,
  params: {},
  hooks: {},
  ...more,
});

export type Run = (
  request: ToolRequest,
  options: { signal: AbortSignal; onOutput?: (text: string) => void },
) => ToolResult | Promise<ToolResult>;

export const ok = (content: string): ToolResult => ({ status: "ok", content, exitCode: 0 });

export interface RigOptions {
  dir?: string;
  cwd?: string;
  config?: Partial<AgentConfig>;
  tools?: Tool[];
  bad?: BadTool[];
  run?: Run;
  agent?: Record<string, unknown>;
  compactor?: Compactor;
  /** Taps hooks before any agent is made. */
  hooks?: (api: PluginApi) => void;
  /** What runs in the background: its `end` is looked at. */
  processes?: () => Pick<ToolProcess, "end">[];
  /** Refuses to make backends. */
  noBackend?: boolean;
}

export interface Rig {
  kernel: Kernel;
  fs: Kernel["fs"];
  model: Model;
  dir: string;
  cwd: string;
  /** Calls that reached the tool runner. */
  ran: ToolRequest[];
  /** What the tool runner has to tell, until it is taken. */
  news: string[];
  /** Event lines so far. */
  lines: string[];
  /** Warnings of the log so far. */
  logged: string[];
  /** Path of the agent `a1` in the session `s1`. */
  A: string;
  agent(): Agent;
  /** What chat says so far, all of it. */
  chat(): Promise<string>;
  idle(): Promise<void>;
  /** Waits until `probe` is true. */
  until(probe: () => boolean | Promise<boolean>): Promise<void>;
  close(): Promise<void>;
}

/** Starts a kernel; `restore` of an earlier rig's `dir` finds its agents again. */
export async function start(options: RigOptions = {}): Promise<Rig> {
  const dir = options.dir ?? tempDir();
  const cwd = options.cwd ?? tempDir();
  const model = scriptedModel();
  const ran: ToolRequest[] = [];
  const news: string[] = [];
  const lines: string[] = [];
  const logged: string[] = [];
  const log: Logger = { ...silent, child: () => log, warn: (text) => void logged.push(text) };
  const tools = options.tools ?? [tool("look"), tool("touch", { scope: "write" }), tool("shell", { scope: "global" })];
  const run: Run = options.run ?? ((request) => ok(`${request.tool} did ${JSON.stringify(request.args)}`));
  const kernel = createKernel({
    log,
    plugins: [
      events(),
      sessions({ dir }),
      scheduler(),
      surroundings({ ...options, model, tools, run, ran, news }),
      agentPlugin({ retryBaseMs: 1, ...options.agent }),
      watcher(lines),
    ] as Use[],
  });
  await kernel.start();
  const failed = kernel.status().filter((plugin) => plugin.state !== "running");
  expect(failed.map(({ name, error }) => `${name}: ${error}`)).toEqual([]);
  let closed = false;
  const close = async () => {
    if (!closed) await kernel.close();
    closed = true;
  };
  onTestFinished(close);
  const A = "/session/s1/agent/a1";
  const until = async (probe: () => boolean | Promise<boolean>) => {
    for (let i = 0; i < 2000; i++) {
      if (await probe()) return;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    throw new Error(`waited in vain for ${probe}`);
  };
  const rig: Rig = {
    kernel,
    fs: kernel.fs,
    model,
    dir,
    cwd,
    ran,
    news,
    lines,
    logged,
    A,
    agent() {
      const session = kernel.use(Sessions)?.get("s1");
      const agent = session && kernel.use(Agents)?.get(session, "a1");
      if (!agent) throw new Error("there is no agent a1");
      return agent;
    },
    chat: async () => chatFilter()(await kernel.fs.read(`${A}/log`)),
    idle: () => until(() => rig.agent().state === "idle"),
    until,
    close,
  };
  return rig;
}

/** Starts a kernel with session s1 and agent a1. */
export async function startAgent(options: RigOptions = {}): Promise<Rig> {
  const rig = await start(options);
  await rig.fs.rdwr("/session/new", "name=s1");
  await rig.fs.rdwr("/session/s1/agent/new", `name=a1 cwd=${rig.cwd}`);
  return rig;
}

interface Inner extends RigOptions {
  model: Model;
  tools: Tool[];
  run: Run;
  ran: ToolRequest[];
  news: string[];
}

const surroundings = (inner: Inner): Use =>
  definePlugin({
    name: "surroundings",
    doc: "What the agent needs, of the test's own.",
    provides: [Backends, Tools, ToolRunner, AgentConfigs, Prompts, ...(inner.compactor ? [Compactor] : [])],
    setup(api) {
      api.provide(Backends, {
        register: () => () => {},
        names: () => ["fake"],
        choose: async () => ({ name: "fake", why: "test" }),
        async create({ backend = "fake", model = "small" }) {
          if (backend !== "fake" || inner.noBackend)
            throw new NineError(`unknown backend "${backend}" (backends: fake)`);
          return inner.model.backend(model);
        },
        models: async () => [{ backend: "fake", models: ["big", "small"] }],
        about: async () => ({}),
        invalidate() {},
      });
      api.provide(Tools, {
        list: () => inner.tools,
        get: (name) => inner.tools.find((one) => one.name === name),
        bad: () => inner.bad ?? [],
        dirs: () => [],
      });
      api.provide(ToolRunner, {
        async call(request, options) {
          inner.ran.push(request);
          return inner.run(request, options);
        },
        warm() {},
        end: async () => {},
        sandbox: () => "provider=off\n",
        processes: () => (inner.processes?.() ?? []) as ToolProcess[],
        news: () => inner.news.splice(0),
        onProcess: () => () => {},
      });
      api.provide(AgentConfigs, {
        names: () => ["default", "other"],
        load(name) {
          if (name === "default") return config(inner.config);
          if (name === "other") return config({ name, prompt: "You are another.", params: { temperature: 0.5 } });
          throw new NineError(`unknown agent ${JSON.stringify(name)} (agents: default other)`);
        },
      });
      api.provide(Prompts, {
        render: async (prompt) => [prompt ?? []].flat().join("\n"),
        prime: (cwd) => ({ PRIME_CWD: cwd }),
      });
      if (inner.compactor) api.provide(Compactor, inner.compactor);
      inner.hooks?.(api as PluginApi);
    },
  })();

const watcher = (lines: string[]): Use =>
  definePlugin({
    name: "watcher",
    doc: "Keeps the event lines.",
    needs: [Events],
    setup(api) {
      const reader = api.use(Events).subscribe("*");
      api.defer(() => reader.close());
      void (async () => {
        for await (const line of reader) lines.push(...String(line).trimEnd().split("\n"));
      })();
    },
  })();
