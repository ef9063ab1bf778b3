/** A daemon with the real plugins, for tests: a file `run` calls a tool, `busy` holds everything up for a while. */
import agent from "ollie/plugins/agent";
import agentConfig from "ollie/plugins/agent-config";
import backendScript from "ollie/plugins/backend-script";
import backends from "ollie/plugins/backends";
import control from "ollie/plugins/control";
import events from "ollie/plugins/events";
import identity from "ollie/plugins/identity";
import oneshot from "ollie/plugins/oneshot";
import prompts from "ollie/plugins/prompts";
import scheduler from "ollie/plugins/scheduler";
import sessions from "ollie/plugins/sessions";
import tools from "ollie/plugins/tools";
import toolsrv from "ollie/plugins/toolsrv";
import { createKernel, definePlugin, leaf, Root } from "#core";
import { Agents } from "#plugins/agent";
import { Sessions } from "#plugins/sessions";
import { ToolRunner } from "#plugins/toolsrv";

const { toolsrv: entry, listen, ...options } = JSON.parse(process.argv[2] ?? "{}");

const trial = definePlugin({
  name: "trial",
  doc: "Ways in for tests.",
  needs: [ToolRunner, Sessions, Agents],
  setup({ mount, use }) {
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

const kernel = createKernel({
  plugins: [
    events(),
    control(),
    identity(options),
    sessions(),
    agentConfig(),
    prompts(),
    backends({ backend: "script" }),
    backendScript({ scenario: { replies } }),
    oneshot(),
    tools(),
    scheduler(),
    toolsrv({ entry }),
    agent(),
    trial(),
  ],
});
// Whoever started it is gone.
process.stdin.resume().once("close", () => process.kill(process.pid, "SIGKILL"));
process.on("SIGTERM", async () => {
  await kernel.close();
  process.exit(0);
});
try {
  await kernel.start();
  await kernel.listen(listen);
  process.stdout.write("ready\n");
} catch (error) {
  process.stdout.write(`failed: ${(error as Error).message}\n`);
  process.exit(1);
}
