/** The tree of a toolsrv: `call`, `proc/`, `tools/`, `host`, `ctl`. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { definePlugin, dir, each, leaf, NineError, Root } from "#core";
import type { Tool, Tools } from "#plugins/tools";
import { type CallBody, lostWithout, type Native, printStatus } from "#plugins/toolsrv";
import type { Calls } from "./calls.ts";
import type { Entry, Processes } from "./processes.ts";
import type { Spawners } from "./spawners.ts";

/** Largest body of a call, in bytes. */
const maxBody = 8 << 20;

const PerTool = Root.instances<Tool>()("tools/{tool}", "tool");
export const PerProcess = Root.instances<Entry>()("proc/{id}", "process");

export interface Served {
  tools: Tools;
  calls: Calls;
  /** `onGone` is what `dismiss` has to call. */
  processes: (onGone: (entry: Entry) => void) => Processes;
  native: Native;
  spawners: Spawners;
}

/** The plugin that serves them. */
export const toolserver = ({ tools, calls, processes: make, native, spawners }: Served) =>
  definePlugin({
    name: "toolserver",
    doc: "Runs tools: one call per open of `call`.",
    setup({ mount, end }) {
      const processes = make((entry) => end(PerProcess, entry));
      mount(
        Root,
        leaf("call", {
          doc: "Write one call as JSON, then read: a JSON object a line, `out` with output as it comes, at the end one `end` with the result. Closing or flushing ends the call's processes.",
          mode: 0o600,
          max: maxBody,
          request: (c, body) => (body === undefined ? callUsage : calls.start(parseCall("call", body), c.signal)),
        }),
        leaf("host", {
          doc: "platform, arch, cwd, is_git_repo, sandbox state, and what runs here: key=value lines.",
          read: () => host(calls, processes, native, spawners),
        }),
        leaf("ctl", {
          doc: "`cancel ID` ends a call, whose result still comes; `end AGENT` ends all that an agent's calls started; `warm RULES` (JSON, or null) makes what calls with these rules start from.",
          mode: 0o600,
          rdwr: (_c, body) =>
            body === undefined ? usage : ctl(Buffer.from(body).toString("utf8"), { calls, processes, spawners }),
        }),
        dir(
          "proc",
          { doc: "Programs in the background." },
          ...(["new", "new.bg"] as const).map((name) => newProcess(name, processes)),
          each(
            PerProcess,
            { list: () => processes.list(), get: (_c, id) => processes.get(id), name: (entry) => entry.id },
            leaf("out", {
              doc: "Output from the first byte that is kept on, and what comes, until the program has ended.",
              stream: (c) => c.process.output.reader(),
            }),
            leaf("status", {
              doc: "id, pid, tool, state (running, ended), and how it ended: key=value lines.",
              read: (c) => printStatus(c.process),
            }),
            leaf("ctl", {
              doc: "`term` ends it, `kill` ends all that belongs to it, `dismiss` forgets it once it has ended.",
              mode: 0o200,
              write: (c, data) => command(c.process, Buffer.from(data).toString("utf8").trim(), processes),
            }),
          ),
        ),
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

const callUsage = 'usage: write {"id","tool","args","cwd","timeout","session","agent",…}, then read\n';

/** `new` keeps the call's time limit, `new.bg` has none. */
const newProcess = (name: "new" | "new.bg", processes: Processes) =>
  leaf(name, {
    doc:
      name === "new"
        ? "Write a call as for `call`; its program is started, and the reply is its status."
        : "As `new`, without a time limit.",
    mode: 0o600,
    max: maxBody,
    async request(_c, body) {
      if (body === undefined) return callUsage;
      const call = parseCall(`proc/${name}`, body);
      return printStatus(await processes.start(name === "new" ? call : { ...call, timeout: 0 }));
    },
  });

async function command(entry: Entry, verb: string, processes: Processes): Promise<void> {
  if (verb === "term") entry.term();
  else if (verb === "kill") await entry.kill();
  else if (verb === "dismiss") processes.dismiss(entry);
  else throw new NineError(`ctl: unknown verb "${verb}" (verbs: term kill dismiss)`);
}

const usage = "usage: cancel ID | end AGENT | warm RULES\n";

interface Parts {
  calls: Calls;
  processes: Processes;
  spawners: Spawners;
}

async function ctl(line: string, { calls, processes, spawners }: Parts): Promise<string> {
  if (line.startsWith("warm ")) {
    await spawners.for(JSON.parse(line.slice(5)) ?? undefined);
    return "ok\n";
  }
  const [verb, argument, ...rest] = line.trim().split(/\s+/);
  if (argument === undefined || rest.length > 0) throw new NineError(`ctl: ${usage.trim()}`);
  if (verb === "cancel") {
    if (!calls.cancel(argument)) throw new NineError(`ctl: there is no call ${argument}`);
  } else if (verb === "end") await Promise.all([calls.endAgent(argument), processes.endAgent(argument)]);
  else throw new NineError(`ctl: unknown verb "${verb}" (verbs: cancel end warm)`);
  return "ok\n";
}

function parseCall(file: string, body: Uint8Array): CallBody {
  try {
    const call = JSON.parse(Buffer.from(body).toString("utf8"));
    if (typeof call.id === "string" && typeof call.tool === "string" && typeof call.cwd === "string") return call;
  } catch {
    // told below
  }
  throw new NineError(`${file}: the body must be a JSON object with id, tool, args and cwd`);
}

function host(calls: Calls, processes: Processes, { missing }: Native, { size }: Spawners): string {
  const cwd = process.cwd();
  const values = {
    platform: process.platform,
    arch: process.arch,
    cwd,
    is_git_repo: String(inRepository(cwd)),
    sandbox: size === 0 ? "off" : `landlock, sets of rules: ${size}`,
    calls: String(calls.active().length),
    processes: String(processes.list().filter(({ end }) => !end).length),
    left: String(calls.left().length),
    native: missing === undefined ? "koffi" : `off (${missing}): ${lostWithout}`,
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
