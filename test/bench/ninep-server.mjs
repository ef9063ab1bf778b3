// The two servers of the 9P rows, each a process of its own: `ollie SOCKET` serves the tree below; `canned SOCKET` answers
// every message with bytes that are ready, which is as little as a server in Node can do.
import { createServer } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "../../data/scripts/setup.mjs";
import { canned } from "./ninep-canned.mjs";

const [kind, socket] = process.argv.slice(2);
const steps = { ollie, canned: () => listen(createServer(canned), socket) };
const publish = await steps[kind]();

process.on("message", (ask) => {
  if (ask === "publish") publish();
  if (ask === "gc") globalThis.gc?.();
  const { user, system } = process.cpuUsage();
  process.send({ cpu: user + system, rss: process.memoryUsage.rss() });
});
process.once("disconnect", () => process.exit());
process.send("ready");

function listen(server, path) {
  return new Promise((resolve) => server.listen({ path, backlog: 4096 }, () => resolve(() => {})));
}

async function ollie() {
  const { bus, createKernel, definePlugin, dir, each, leaf, Root, source } = await import(
    pathToFileURL(join(root, "dist/core/index.js")).href
  );
  const woken = bus();
  const pulled = bus();
  let wake = () => {};
  let next = new Promise((resolve) => (wake = resolve));
  const block = Buffer.alloc(64 * 1024, "x");
  const PerSession = Root.instances()("session/{name}", "session");
  const PerAgent = PerSession.instances()("agent/{aname}", "agent");
  const only = (name) => {
    const value = { name };
    return { list: () => [value], get: (_c, asked) => (asked === name ? value : undefined), name: (one) => one.name };
  };
  const doc = "For the bench.";
  const plugin = definePlugin({
    name: "bench",
    doc,
    provides: [PerSession, PerAgent],
    setup({ mount }) {
      mount(
        Root,
        leaf("file", { doc, read: () => "idle\n" }),
        leaf("async", { doc, read: async () => "idle\n" }),
        leaf("bus", { doc, stream: () => woken.subscribe() }),
        leaf("generator", {
          doc,
          async *stream(c) {
            for await (const line of pulled.subscribe(c.signal)) yield line;
          },
        }),
        leaf("promise", { doc, blockOnce: () => next }),
        // Never without data: what a reader gets is limited by the transport alone.
        leaf("endless", {
          doc,
          stream: () => source({ take: (max) => block.subarray(0, max), wait: () => () => {}, close() {} }),
        }),
        dir("session", {}, each(PerSession, only("s1"), dir("agent", {}, each(PerAgent, only("a1"))))),
      );
      mount(PerAgent, leaf("state", { doc, read: () => "idle\n" }));
    },
  });
  const kernel = createKernel({ plugins: [plugin()] });
  await kernel.start();
  await kernel.listen({ unix: socket });
  return () => {
    woken.publish("line\n");
    pulled.publish("line\n");
    wake("line\n");
    next = new Promise((resolve) => (wake = resolve));
  };
}
