/** `statewait`: the next state that differs from the one the client saw. */
import type { AgentAt } from "./rights.ts";
import { runtimeOf } from "./runtime.ts";
import type { Change, Watch } from "./state.ts";

/** What one open fid waits for. */
interface Waiting {
  baseline: string;
  /** Changes up to this one are known to the client. */
  count: number;
  /** Looks again, after the baseline was written. */
  look: () => void;
}

const fids = new WeakMap<object, Waiting>();

function of(c: AgentAt, watch: Watch): Waiting {
  const found = fids.get(c.fid) ?? { baseline: watch.get("state"), count: watch.count("state"), look() {} };
  fids.set(c.fid, found);
  return found;
}

/** Called at open and at each later read at offset 0: changes in between are not lost. */
export function nextState(c: AgentAt): Promise<string> {
  const { watch } = runtimeOf(c.agent);
  const mine = of(c, watch);
  return new Promise((resolve, reject) => {
    const done = () => {
      off();
      c.signal.removeEventListener("abort", gone);
    };
    const gone = () => {
      done();
      reject(c.signal.reason);
    };
    mine.look = () => {
      const change: Change | undefined = watch.since("state", mine.count, mine.baseline);
      if (!change) return;
      done();
      mine.look = () => {};
      mine.baseline = change.value;
      mine.count = change.count;
      resolve(`${change.value}\n`);
    };
    // At the agent's end the kernel ends the read: there is no answer to give.
    const off = watch.on("state", (change) => (change ? mine.look() : done()));
    c.signal.addEventListener("abort", gone, { once: true });
    mine.look();
  });
}

/** The state that the client saw: the read returns at once where it differs already. */
export function setBaseline(c: AgentAt, data: Uint8Array): void {
  const { watch } = runtimeOf(c.agent);
  const mine = of(c, watch);
  mine.baseline = new TextDecoder().decode(data).trim();
  // The present state counts as a change that the client may not know: also the first one, which no change led to.
  mine.count = watch.count("state") - 1;
  mine.look();
}
