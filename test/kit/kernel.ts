/** A kernel in memory with everything an agent needs: scripted model, tools that are functions, nothing on disk. */
import agent from "ollie/plugins/agent";
import agentConfig from "ollie/plugins/agent-config";
import backendScript from "ollie/plugins/backend-script";
import backends from "ollie/plugins/backends";
import events from "ollie/plugins/events";
import prompts from "ollie/plugins/prompts";
import scheduler from "ollie/plugins/scheduler";
import sessions from "ollie/plugins/sessions";
import { createKernel, definePlugin, fault, type Kernel, OllieError, type Use } from "#core";
import { Agents } from "#plugins/agent";
import { Sessions } from "#plugins/sessions";
import { type FakeTool, fakeTools } from "./tools.ts";

export interface TestOptions {
  /** Behind the standard ones; one of the same name replaces it. */
  plugins?: readonly Use[];
  /** Replies of the model, as backend-script's scenarios have them. */
  replies?: readonly Record<string, unknown>[];
  tools?: Record<string, FakeTool>;
}

export interface TestKernel extends Kernel {
  /** Makes session `s1` with agent `a1` that has all tools loaded; gives the agent's path. */
  agent(): Promise<string>;
  /** Writes a prompt and waits until the agent is idle; gives what `chat` says in all. */
  prompt(text: string, at?: string): Promise<string>;
}

/** Started. Closing it (`await using`) throws when a plugin left something behind. */
export async function testKernel(options: TestOptions = {}): Promise<TestKernel> {
  const { replies = [{ repeat: "always", steps: [{ text: "ok" }] }], tools = {}, plugins = [] } = options;
  const replaced = new Set(plugins.map((use) => use.def.name));
  const standard = [
    events(),
    sessions({ persist: false }),
    agentConfig(),
    prompts(),
    backends({ backend: "script" }),
    backendScript({ scenario: { replies } }),
    scheduler(),
    fakeTools(tools),
    agent(),
  ].filter((use) => !replaced.has(use.def.name));
  const leaks: string[] = [];
  const watch = definePlugin({
    name: "test-watch",
    doc: "Notes what does not end.",
    setup({ on }) {
      on(fault, (_plugin, _where, error) => {
        if (error instanceof OllieError && error.code === "E_LEAK") leaks.push(error.message);
      });
    },
  });
  // First in, last out: it sees the end of all others.
  const kernel = createKernel({ plugins: [watch(), ...standard, ...plugins] });
  await kernel.start();
  const close = async () => {
    await kernel.close();
    const left = kernel
      .status()
      .flatMap(({ name, taps, inFlight }) => [...taps, ...inFlight].map((what) => `${name}: ${what}`));
    left.push(...leaks);
    if (left.length > 0) throw new Error(`left behind: ${left.join(", ")}`);
  };
  return Object.assign(Object.create(kernel) as Kernel, {
    close,
    [Symbol.asyncDispose]: close,
    async agent() {
      const session = kernel.use(Sessions)?.create({ name: "s1" });
      if (!session) throw new Error("no plugin serves sessions");
      await kernel.use(Agents)?.create(session, { cwd: process.cwd(), name: "a1", agent: "default" });
      const at = "/session/s1/agent/a1";
      for (const name of Object.keys(tools)) await kernel.fs.write(`${at}/tools`, `${name}\n`);
      return at;
    },
    async prompt(text: string, at = "/session/s1/agent/a1") {
      await kernel.fs.write(`${at}/prompt`, text);
      const agents = kernel.use(Agents);
      const session = kernel.use(Sessions)?.get(at.split("/")[2] ?? "");
      const one = session && agents?.get(session, at.split("/")[4] ?? "");
      while (one && one.state !== "idle") await one.waitChange("state", one.state, new AbortController().signal);
      return readNow(kernel, `${at}/chat`);
    },
  });
}

/** What a stream file holds at this moment. */
async function readNow(kernel: Kernel, path: string): Promise<string> {
  const { length } = await kernel.fs.stat(path);
  let text = "";
  if (length === 0) return text;
  for await (const piece of kernel.fs.stream(path)) {
    text += piece;
    if (Buffer.byteLength(text) >= length) break;
  }
  return text;
}
