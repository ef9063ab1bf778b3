// A request to a model's provider and its short streamed answer, one after the other on a kept connection.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "../../../data/scripts/setup.mjs";
import { provider } from "../provider.mjs";

export default {
  name: "request to a provider, 200 in turn",
  against: "global fetch",
  goal: 0.9,
  async setup() {
    const { providerFetch, bodyBytes } = await import(pathToFileURL(join(root, "dist/plugins/backends/types.js")).href);
    const url = await provider("data: {}\n\n", 1, "data: [DONE]\n\n");
    const request = { method: "POST", headers: { "content-type": "application/json" }, body: "x".repeat(20_000) };
    const ours = providerFetch();
    const many = async (fetch, bytesOf) => {
      for (let n = 0; n < 200; n++) for await (const _ of bytesOf(await fetch(url, request)));
    };
    return { measured: () => many(ours, bodyBytes), baseline: () => many(fetch, ({ body }) => body) };
  },
};
