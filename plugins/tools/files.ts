/** What /tools shows. */
import { leaf } from "#core";
import type { Tools } from "./types.ts";

const oneLine = (text: string): string => text.replace(/\s+/g, " ").trim();

/** A block per tool, then one per file that was refused. */
export function toolsIndex(tools: Pick<Tools, "list" | "bad">): string {
  const good = tools.list().map((tool) =>
    [
      `## ${tool.name}`,
      `description: ${oneLine(tool.description)}`,
      `args: ${Object.keys(tool.args.properties ?? {})
        .map((name) => (tool.args.required?.includes(name) ? name : `[${name}]`))
        .join(" ")}`.trimEnd(),
      `scope: ${tool.scope}`,
      ...(tool.command ? [`command: ${oneLine(tool.command.join(" "))}`] : []),
      ...(tool.exec === undefined ? [] : [`file: ${tool.exec}`]),
    ].join("\n"),
  );
  const bad = tools.bad().map(({ file, reason }) => `## !${oneLine(file)}\nerror: ${oneLine(reason)}`);
  return [...good, ...bad].map((block) => `${block}\n\n`).join("");
}

export const toolsFile = (tools: Tools) =>
  leaf("tools", {
    doc: "Every tool on disk, a block each: name, description, arguments (optional ones in brackets), scope, file. Files that were refused follow as `## !file` with the reason.",
    read: () => toolsIndex(tools),
  });
