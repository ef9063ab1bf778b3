/**
 * The config of a daemon for tests: the stock plugins of the package that runs it, and a file `run` calls a tool, `busy` holds
 * everything up for a while. The environment variable TRIAL has options of identity, as JSON.
 */
import { createRequire } from "node:module";
import { join } from "node:path";
import { type Config, defineConfig, definePlugin, leaf, packageRoot, Root } from "ollie";
import { Agents } from "ollie/agent";
import backendScript from "ollie/plugins/backend-script";
import backends from "ollie/plugins/backends";
import identity from "ollie/plugins/identity";
import { Sessions } from "ollie/sessions";
import { ToolRunner } from "ollie/toolsrv";

const stock: { default: Config } = createRequire(import.meta.url)(join(packageRoot(), "dist/ollie.config.cjs"));

const trial = definePlugin({
  name: "trial",
  doc: "Ways in for tests.",
  needs: [ToolRunner, Sessions, Agents],
  setup({ mount, use }) {
    // Whoever started it is gone.
    process.stdin.resume().once("close", () => process.kill(process.pid, "SIGKILL"));
    const runner = use(ToolRunner);
    mount(
      Root,
      leaf("run", {
        doc: "Runs a tool as an agent.",
        mode: 0o600,
        async request(c, body) {
          if (!body) return "";
          const { session: at, agent: as, tool, args } = JSON.parse(Buffer.from(body).toString());
          const session = use(Sessions).get(at);
          const one = session && use(Agents).get(session, as);
          if (!session || !one) return "no such agent";
          const { content } = await runner.call(
            {
              ...{ session: session.id, agent: one.id, sessionName: session.name, agentName: one.name },
              ...{ callId: "1", tool, args, cwd: one.cwd, env: Object.fromEntries(session.env), timeout: 60_000 },
            },
            { signal: c.signal },
          );
          return content;
        },
      }),
      leaf("busy", {
        doc: "Does nothing else for so many milliseconds, from 100 on.",
        mode: 0o200,
        write: (_c, data) => {
          const ms = Number(Buffer.from(data).toString());
          setTimeout(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms), 100);
        },
      }),
    );
  },
});

/** A prompt `probe` has a tool run the script that lies in the working directory. */
const replies = [
  { when: { result: "" }, repeat: "always" as const, steps: [{ text: "done" }] },
  {
    when: { prompt: "^probe$" },
    repeat: "always" as const,
    steps: [{ call: { name: "shell", args: { command: "sh ./probe.sh" } } }],
  },
  { repeat: "always" as const, steps: [{ text: "ok" }] },
];

const others = [
  identity(JSON.parse(process.env.TRIAL ?? "{}")),
  backends({ backend: "script" }),
  backendScript({ scenario: { replies } }),
];

export default defineConfig({
  plugins: [...stock.default.plugins.map((use) => others.find(({ def }) => def.name === use.def.name) ?? use), trial()],
});
