/** proc/{pid}/{out,status,ctl} of an agent. */
import { type Base, dir, each, leaf, NineError } from "#core";
import { type Agent, isKin } from "#plugins/agent";
import type { Session } from "#plugins/sessions";
import type { ToolProcess, ToolRunner } from "#plugins/toolsrv";
import { PerProcess } from "./types.ts";

type AgentAt = Base & { readonly session: Session; readonly agent: Agent };
type ProcessAt = AgentAt & { readonly process: ToolProcess };

export const processDir = (runner: ToolRunner) =>
  dir<AgentAt>(
    "proc",
    {
      doc: "Programs that the agent runs in the background. One that has ended stays until ten minutes after it was last read.",
    },
    each(
      PerProcess,
      {
        doc: "A program in the background, by its number.",
        list: (c) => runner.processes(c.session.id, c.agent.id),
        get: (c, id) => runner.processes(c.session.id, c.agent.id).find((process) => process.id === id),
        name: (process) => process.id,
      },
      leaf<ProcessAt>("out", {
        doc: "Its output, from the first byte that is kept (at least the last 256 KB), and what comes until it has ended.",
        deny: (principal, _op, c) => (isKin(principal, c.agent) ? undefined : "out: permission denied"),
        rights: "agents of the session, its creator and the agents that this one made read",
        stream: (c) => c.process.out(),
      }),
      leaf<ProcessAt>("status", {
        doc: "id, pid, tool, state (running, ended), how it ended (code, signal, cause, left), title, bytes: key=value lines.",
        deny: (principal, _op, c) =>
          principal.kind !== "agent" || principal.agent === c.agent.id ? undefined : "status: permission denied",
        rights: "the agent itself reads",
        read: (c) => c.process.status(),
      }),
      leaf<ProcessAt>("ctl", {
        doc: "`term` asks it to end, `kill` ends all that belongs to it, `dismiss` takes one that has ended out of the list.",
        mode: 0o200,
        deny: (principal) =>
          principal.kind === "agent" ? "ctl: permission denied: agents may not write it" : undefined,
        rights: "user and hooks",
        write: (c, data) => command(c.process, Buffer.from(data).toString("utf8").trim()),
      }),
    ),
  );

async function command(process: ToolProcess, verb: string): Promise<void> {
  if (verb === "term") await process.term();
  else if (verb === "kill") await process.kill();
  else if (verb === "dismiss") process.dismiss();
  else throw new NineError(`ctl: unknown verb "${verb}" (verbs: term kill dismiss)`);
}
