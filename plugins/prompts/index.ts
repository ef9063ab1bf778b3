/** Plugin prompts: system prompts from the prompt commands and files that agent configs name. */
import { definePlugin } from "#core";
import { Sockets } from "#plugins/identity";
import { prime } from "./prime.ts";
import { render } from "./render.ts";
import { Prompts } from "./types.ts";

export default definePlugin({
  name: "prompts",
  doc: "Renders system prompts: texts, files, and shell commands such as ollie-prime, which prints templates.",
  provides: [Prompts],
  wants: [Sockets],
  setup(api) {
    const sockets = api.tryUse(Sockets);
    api.provide(Prompts, { render: (prompt, at) => render(prompt, at, sockets), prime: (cwd) => prime(cwd) });
  },
});
