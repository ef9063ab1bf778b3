/** Plugin prompts: system prompts from the prompt commands and files that agent configs name. */
import { definePlugin } from "#core";
import { prime } from "./prime.ts";
import { render } from "./render.ts";
import { Prompts } from "./types.ts";

export default definePlugin({
  name: "prompts",
  doc: "Renders system prompts: texts, files, and shell commands such as ollie-prime, which prints templates.",
  provides: [Prompts],
  setup(api) {
    api.provide(Prompts, { render, prime: (cwd) => prime(cwd) });
  },
});
