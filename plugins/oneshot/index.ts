/** Plugin oneshot: one request to a model and its answer, without a session. */
import { definePlugin, leaf, Root } from "#core";
import { Backends } from "#plugins/backends";

// The code behind the files is loaded when one is used.
const completing = () => import("./complete.ts");
const generating = () => import("./generate.ts");
const routing = () => import("./route.ts");

export default definePlugin({
  name: "oneshot",
  doc: "Root files complete, generate and route: one request to a model and its answer, without a session.",
  needs: [Backends],
  caps: ["net"],
  setup({ mount, use }) {
    const backends = use(Backends);
    mount(
      Root,
      leaf("complete", {
        doc: "Write the text before the cursor (and behind it), read the text that an editor inserts. Read it unwritten for the keys",
        mode: 0o666,
        max: 1 << 20,
        async request(c, body) {
          const { complete, completeUsage } = await completing();
          return body ? complete(body, backends, process.env, c.signal) : completeUsage;
        },
      }),
      leaf("generate", {
        doc: "Write a prompt, read the answer as it comes; with a schema, one JSON value that it accepts. Read it unwritten for the keys",
        mode: 0o666,
        async *request(c, body) {
          const { generate, generateUsage } = await generating();
          if (!body) yield generateUsage;
          else yield* await generate(body, backends, c.signal);
        },
      }),
      leaf("route", {
        doc: "Write a task and what it needs, read which backend and model fit and why. Read it unwritten for the keys",
        mode: 0o666,
        max: 1 << 20,
        async request(_, body) {
          const { route, routeUsage } = await routing();
          return body ? route(body, backends) : routeUsage;
        },
      }),
    );
  },
});
