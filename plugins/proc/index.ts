/** The background processes of an agent as files, and their events. They run in toolsrv, which knows no agents. */
import { definePlugin } from "#core";
import { Agents, PerAgent } from "#plugins/agent";
import { Events } from "#plugins/events";
import { Sessions } from "#plugins/sessions";
import { type ToolProcess, ToolRunner } from "#plugins/toolsrv";
import { processDir } from "./files.ts";
import { PerProcess } from "./types.ts";

export default definePlugin({
  name: "proc",
  doc: "Serves an agent's background processes as files.",
  needs: [ToolRunner, Agents, PerAgent, Sessions, Events],
  setup({ use, mount, end, defer }) {
    const runner = use(ToolRunner);
    const agents = use(Agents);
    const sessions = use(Sessions);
    const events = use(Events);

    /** `session/N/agent/A/proc/ID` with the names of now; undefined: the agent is gone. */
    const pathOf = (process: ToolProcess): string | undefined => {
      const session = sessions.get(process.session);
      const agent = session && agents.get(session, process.agent);
      return agent && `session/${session.name}/agent/${agent.name}/proc/${process.id}`;
    };
    mount(PerAgent, processDir(runner));
    defer(
      runner.onProcess((process, change) => {
        if (change === "gone") return end(PerProcess, process);
        const path = pathOf(process);
        if (path === undefined) return;
        const how = process.end ? ` ${process.end.code ?? process.end.signal ?? "lost"}` : "";
        events.publish(`session.${process.session}.agent.${process.agent}.proc`, `P ${change} ${path}${how}`);
      }),
    );
  },
});
