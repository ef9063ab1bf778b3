/** A conversation as markdown, for `save` of the session's ctl. */
import type { Message } from "#plugins/backends";
import { fenceFor } from "./fence.ts";
import type { Runtime } from "./runtime.ts";

export const transcriptOf = (rt: Runtime): Promise<string> =>
  rt.deps.histories.read(rt, (messages) => markdown(rt, messages));

function markdown(rt: Runtime, messages: readonly Message[]): string {
  const parts = messages.map((message) => {
    switch (message.role) {
      case "user":
        return `## User\n\n${message.content}\n`;
      case "tool":
        return `### Result of ${message.name}\n\n${fenced("", message.content)}`;
      case "assistant": {
        const calls = (message.toolCalls ?? []).map(
          ({ name, args }) => `### Call of ${name}\n\n${fenced("json", JSON.stringify(args, undefined, 2))}`,
        );
        return [`## Assistant\n\n${message.content}\n`, ...calls].join("\n");
      }
      default:
        return "";
    }
  });
  return [`# Agent ${rt.name} (${rt.provider.name} ${rt.provider.model}, ${rt.cwd})\n`, ...parts].join("\n");
}

function fenced(language: string, text: string): string {
  const fence = fenceFor(text);
  return `${fence}${language}\n${text.trimEnd()}\n${fence}\n`;
}
