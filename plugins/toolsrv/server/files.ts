/** The tree of a toolsrv: `call`, `tools/`, `host`, `ctl`. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { definePlugin, dir, each, leaf, NineError, Root } from "#core";
import type { Tool, Tools } from "#plugins/tools";
import type { CallBody } from "#plugins/toolsrv";
import type { Calls } from "./calls.ts";

/** Largest body of a call, in bytes. */
const maxBody = 8 << 20;

const PerTool = Root.instances<Tool>()("tools/{tool}", "tool");

/** The plugin that serves them. */
export const toolserver = (tools: Tools, calls: Calls) =>
  definePlugin({
    name: "toolserver",
    doc: "Runs tools: one call per open of `call`.",
    setup({ mount }) {
      mount(
        Root,
        leaf("call", {
          doc: "Write one call as JSON, then read: a JSON object a line, `out` with output as it comes, at the end one `end` with the result. Closing or flushing ends the call's processes.",
          mode: 0o600,
          max: maxBody,
          request: (c, body) =>
            body === undefined
              ? 'usage: write {"id","tool","args","cwd","timeout","session","agent",…}, then read\n'
              : calls.start(parseCall(body), c.signal),
        }),
        leaf("host", {
          doc: "platform, arch, cwd, is_git_repo, sandbox state, and what runs here: key=value lines.",
          read: () => host(calls),
        }),
        leaf("ctl", {
          doc: "`cancel ID` ends a call, whose result still comes; `end AGENT` ends all that an agent's calls started.",
          mode: 0o600,
          rdwr: (_c, body) => (body === undefined ? usage : ctl(Buffer.from(body).toString("utf8"), calls)),
        }),
        dir(
          "tools",
          { doc: "One directory per tool that can be called here." },
          each(
            PerTool,
            { list: () => tools.list(), get: (_c, name) => tools.get(name), name: (tool) => tool.name },
            leaf("meta", {
              doc: "The tool as it was read from its .meta, as JSON.",
              read: (c) => `${JSON.stringify(c.tool, null, 2)}\n`,
            }),
          ),
        ),
      );
    },
  })();

const usage = "usage: cancel ID | end AGENT\n";

async function ctl(line: string, calls: Calls): Promise<string> {
  const [verb, argument, ...rest] = line.trim().split(/\s+/);
  if (argument === undefined || rest.length > 0) throw new NineError(`ctl: ${usage.trim()}`);
  if (verb === "cancel") {
    if (!calls.cancel(argument)) throw new NineError(`ctl: there is no call ${argument}`);
  } else if (verb === "end") await calls.endAgent(argument);
  else throw new NineError(`ctl: unknown verb "${verb}" (verbs: cancel end)`);
  return "ok\n";
}

function parseCall(body: Uint8Array): CallBody {
  try {
    const call = JSON.parse(Buffer.from(body).toString("utf8"));
    if (typeof call.id === "string" && typeof call.tool === "string" && typeof call.cwd === "string") return call;
  } catch {
    // told below
  }
  throw new NineError("call: the body must be a JSON object with id, tool, args and cwd");
}

function host(calls: Calls): string {
  const cwd = process.cwd();
  const values = {
    platform: process.platform,
    arch: process.arch,
    cwd,
    is_git_repo: String(inRepository(cwd)),
    sandbox: "off",
    calls: String(calls.active().length),
    left: String(calls.left().length),
  };
  return Object.entries(values)
    .map(([key, value]) => `${key}=${value}\n`)
    .join("");
}

/** A worktree has a file of that name, a clone a directory. */
function inRepository(cwd: string): boolean {
  for (let at = cwd; ; at = dirname(at)) {
    if (existsSync(join(at, ".git"))) return true;
    if (at === dirname(at)) return false;
  }
}
