/** Calls that run, and what they left behind. */
import { messageOf } from "#core";
import type { Tools } from "#plugins/tools";
import { type CallBody, type CallRecord, members, sweep } from "#plugins/toolsrv";
import { prepare } from "./prepare.ts";
import { toResult } from "./result.ts";
import { run } from "./run.ts";
import type { Spawner } from "./spawn.ts";
import type { Spawners } from "./spawners.ts";

export interface Calls {
  /** Runs one call: its output as it comes, at the end its result. Leaving the loop or the abort of `signal` ends it. */
  start(call: CallBody, signal: AbortSignal): AsyncIterable<string>;
  /** Ends a call; its result is still told. False: there is none of that id. */
  cancel(id: string): boolean;
  /** Calls that run now. */
  active(): { id: string; tool: string; agent: string }[];
  /** Processes that ended calls have left. */
  left(): number[];
  /** Ends everything an agent's calls started. */
  endAgent(agent: string): Promise<void>;
}

interface Running {
  tool: string;
  agent: string;
  stop: AbortController;
}

/** `cookie` marks all processes of this toolsrv; each call's own is `{cookie}.{agent}.{n}.`. */
export function calls(tools: Tools, spawners: Pick<Spawners, "for">, cookie: string): Calls {
  const running = new Map<string, Running>();
  const finished = new Set<string>();
  let count = 0;
  const prefix = (agent: string) => `${cookie}.${agent}.`;

  return {
    async *start(call, signal) {
      if (running.has(call.id)) {
        yield record({ end: { status: "refused", content: `call ${call.id} is running already` } });
        return;
      }
      const mark = `${prefix(call.agent)}${++count}.`;
      const prepared = prepare(call, tools, mark);
      if ("refused" in prepared) {
        yield record({ end: { status: "refused", content: prepared.refused } });
        return;
      }
      const stop = new AbortController();
      running.set(call.id, { tool: call.tool, agent: call.agent, stop });
      const end = () => stop.abort();
      if (signal.aborted) end();
      else signal.addEventListener("abort", end, { once: true });
      let spawner: Spawner;
      try {
        spawner = await spawners.for(call.rules);
      } catch (error) {
        running.delete(call.id);
        signal.removeEventListener("abort", end);
        yield record({ end: { status: "refused", content: messageOf(error) } });
        return;
      }
      const out = channel();
      const ended = run(prepared.job, spawner, { signal: stop.signal, onOutput: out.push }).then((result) => {
        running.delete(call.id);
        if (result.left.length > 0) finished.add(mark);
        out.close();
        return toResult(result, { timeout: call.timeout, exact: prepared.exact, profile: call.rules?.profile });
      });
      try {
        yield* out.records();
        yield record({ end: await ended });
      } finally {
        end();
        signal.removeEventListener("abort", end);
      }
    },
    cancel(id) {
      const call = running.get(id);
      call?.stop.abort();
      return call !== undefined;
    },
    active: () => [...running].map(([id, { tool, agent }]) => ({ id, tool, agent })),
    left() {
      const pids = [...finished].flatMap((mark) => {
        const found = members({ cookie: mark });
        if (found.length === 0) finished.delete(mark);
        return found;
      });
      return pids;
    },
    async endAgent(agent) {
      for (const call of running.values()) if (call.agent === agent) call.stop.abort();
      await sweep({ cookie: prefix(agent) });
    },
  };
}

const record = (value: CallRecord): string => `${JSON.stringify(value)}\n`;

/** Output on its way to one reader: what comes while the reader is busy is joined. The runner bounds its sum. */
function channel() {
  let pending = "";
  let closed = false;
  let wake = () => {};
  return {
    push(text: string) {
      pending += text;
      wake();
    },
    close() {
      closed = true;
      wake();
    },
    async *records() {
      for (;;) {
        if (pending !== "") {
          const out = pending;
          pending = "";
          yield record({ out });
        } else if (closed) return;
        else
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
    },
  };
}
