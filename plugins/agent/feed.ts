/** `feed`: a write stores a text, a read waits until it differs from what this fid saw. */
import { record } from "./lines.ts";
import type { AgentAt } from "./rights.ts";
import { runtimeOf } from "./runtime.ts";

const seen = new WeakMap<object, string>();

export async function writeFeed(c: AgentAt, data: Uint8Array): Promise<void> {
  const rt = runtimeOf(c.agent);
  const written = record(rt, { kind: "set", values: { feed: new TextDecoder().decode(data) } });
  rt.feeds.wakeAll();
  await written;
}

/** The first read of a fid gives what is stored, if anything is. */
export async function nextFeed(c: AgentAt): Promise<string> {
  const rt = runtimeOf(c.agent);
  const known = seen.get(c.fid) ?? "";
  while (rt.feed === known && !rt.dead) {
    await new Promise<void>((wake, reject) => {
      const gone = () => {
        off();
        reject(c.signal.reason);
      };
      const off = rt.feeds.add(() => {
        c.signal.removeEventListener("abort", gone);
        wake();
      });
      c.signal.addEventListener("abort", gone, { once: true });
    });
  }
  seen.set(c.fid, rt.feed);
  return rt.feed;
}
