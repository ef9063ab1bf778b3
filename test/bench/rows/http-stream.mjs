// 50 MB of streamed answer, in pieces of 1 KB as a provider sends them.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "../../../data/scripts/setup.mjs";
import { provider } from "../provider.mjs";

export default {
  name: "50 MB streamed from a provider",
  against: "global fetch",
  goal: 1,
  rounds: 7,
  async setup() {
    const { providerFetch, bodyBytes } = await import(pathToFileURL(join(root, "dist/plugins/backends/types.js")).href);
    const url = await provider(`data: ${"x".repeat(990)}\n\n`, 50_000);
    const ours = providerFetch();
    const post = { method: "POST" };
    const all = async (bytes) => {
      let size = 0;
      for await (const piece of bytes) size += piece.length;
      if (size !== 49_900_000) throw new Error(`${size} bytes came`);
    };
    return {
      measured: async () => all(bodyBytes(await ours(url, post))),
      baseline: async () => all((await fetch(url, post)).body),
    };
  },
};
