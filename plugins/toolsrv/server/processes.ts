/** The background processes of this toolsrv, by the names that the daemon gave them. */
import { NineError } from "#core";
import type { Tools } from "#plugins/tools";
import type { CallBody } from "#plugins/toolsrv";
import { prepare } from "./prepare.ts";
import { type BackgroundProcess, startProcess } from "./process.ts";
import type { Spawners } from "./spawners.ts";

export interface Entry extends BackgroundProcess {
  readonly id: string;
  readonly tool: string;
  readonly agent: string;
}

export interface Processes {
  /** Throws NineError where it can not be started: nothing runs then. */
  start(call: CallBody): Promise<Entry>;
  list(): Entry[];
  get(id: string): Entry | undefined;
  /** Forgets one that has ended, and ends its readers. Throws NineError while it runs. */
  dismiss(entry: Entry): void;
  /** Ends those of an agent: by pid, since one that has just begun does not bear the agent's mark yet. */
  endAgent(agent: string): Promise<void>;
}

/** `onGone` is told what was dismissed. */
export function processes(
  tools: Tools,
  spawners: Pick<Spawners, "for">,
  cookie: string,
  onGone: (entry: Entry) => void = () => {},
): Processes {
  const table = new Map<string, Entry>();
  return {
    async start(call) {
      if (!/^\w{1,64}$/.test(call.id)) throw new NineError("proc/new: id must be 1 to 64 letters and digits");
      if (table.has(call.id)) throw new NineError(`proc/new: there is a process ${call.id} already`);
      const prepared = prepare(call, tools, `${cookie}.${call.agent}.p${call.id}.`);
      if ("refused" in prepared) throw new NineError(prepared.refused);
      const spawner = await spawners.for(call.rules).catch((error: Error) => {
        throw new NineError(error.message);
      });
      const started = await startProcess(prepared.job, spawner).catch((error: Error) => {
        throw new NineError(`the tool could not be started: ${error.message}`);
      });
      const entry: Entry = Object.assign(started, { id: call.id, tool: call.tool, agent: call.agent });
      table.set(call.id, entry);
      return entry;
    },
    list: () => [...table.values()],
    get: (id) => table.get(id),
    dismiss(entry) {
      if (!entry.end) throw new NineError(`proc/${entry.id}/ctl: it runs (term or kill it first)`);
      table.delete(entry.id);
      onGone(entry);
    },
    async endAgent(agent) {
      await Promise.all([...table.values()].map((entry) => entry.agent === agent && !entry.end && entry.kill()));
    },
  };
}
