/** Tools in memory, for tests of plugins: functions in place of scripts, no process and no file. */
import { definePlugin } from "#core";
import { type Tool, Tools } from "#plugins/tools";
import { ToolRunner } from "#plugins/toolsrv";

/** What a tool gives: its text, or an Error for a failure. */
export type FakeTool = (args: Record<string, unknown>) => string | Promise<string>;

const toolOf = (name: string): Tool => ({
  name,
  description: `The test tool ${name}.`,
  args: { type: "object", additionalProperties: true },
  scope: "read",
  tier: "warm",
  readOnly: true,
  exact: true,
  sudo: false,
  timeout: 30,
  exec: `/test/${name}`,
  meta: `/test/${name}.meta`,
});

/** Provides the services Tools and ToolRunner. */
export const fakeTools = (functions: Record<string, FakeTool>) =>
  definePlugin({
    name: "fake-tools",
    doc: "Tools in memory, for tests.",
    provides: [Tools, ToolRunner],
    setup({ provide }) {
      const all = Object.keys(functions).sort().map(toolOf);
      provide(Tools, {
        list: () => all,
        get: (name) => all.find((t) => t.name === name),
        bad: () => [],
        dirs: () => [],
      });
      provide(ToolRunner, {
        async call({ tool, args }) {
          try {
            return { status: "ok", content: (await functions[tool]?.(args)) || "(no output)" };
          } catch (error) {
            return { status: "failed", content: error instanceof Error ? error.message : String(error) };
          }
        },
        warm() {},
        end: async () => {},
        sandbox: () => "provider=none\n",
        processes: () => [],
        news: () => [],
        onProcess: () => () => {},
      });
    },
  })();
