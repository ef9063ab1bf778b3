/** The files of an agent: session/{name}/agent/{aname}/. */
import { leaf, type Node, text } from "#core";
import { askerOf, depthOf } from "./asker.ts";
import { runCommand } from "./bang.ts";
import { printCfg, writeCfg } from "./cfg.ts";
import { printContext } from "./context.ts";
import { agentCtl } from "./ctl.ts";
import { nextFeed, writeFeed } from "./feed.ts";
import { limits } from "./limits.ts";
import { record } from "./lines.ts";
import { accepts, enqueue, inject, submit } from "./loop.ts";
import { editQueue, popQueue, printQueue } from "./queue-file.ts";
import { type AgentAt, rights } from "./rights.ts";
import type { Roster } from "./roster.ts";
import { type Runtime, runtimeOf } from "./runtime.ts";
import { slashOf } from "./slash.ts";
import { nextState, setBaseline } from "./statewait.ts";
import { statsOf } from "./stats.ts";
import { loadTools, printTools } from "./tools-file.ts";

const rt = (c: AgentAt): Runtime => runtimeOf(c.agent);
const utf8 = (data: Uint8Array): string => new TextDecoder().decode(data);

/** Words for ollie itself (`!command`, `/verb`) are read in prompts of people and their hooks only: a model's text is text. */
async function promptWritten(roster: Roster, c: AgentAt, text: string): Promise<void> {
  const { principal } = c;
  if (principal.kind !== "agent") {
    if (text.startsWith("!")) return runCommand(rt(c), text.slice(1), depthOf(roster, c));
    const slash = slashOf(roster, text);
    if (slash) return slash(c);
  }
  return submit(rt(c), text, askerOf(roster, c), principal.kind === "agent");
}

export function agentFiles(roster: Roster): Node<AgentAt>[] {
  return [...promptFiles(roster), ...chatFiles(), ...stateFiles(), ...settingFiles(roster)];
}

function promptFiles(roster: Roster): Node<AgentAt>[] {
  const asked = { mode: 0o666, commit: "close", max: limits.prompt } as const;
  const check = (what: string) => (c: AgentAt, size: number) => accepts(rt(c), what, size);
  return [
    leaf<AgentAt>("prompt", {
      ...asked,
      doc: "A write is a prompt: it runs when the file is closed, or is queued while a turn runs. A user's `/help` lists commands, `!CMD` runs a shell command. A read gives the last prompt.",
      ...rights("prompt", { kin: "w" }),
      ...text((c) => rt(c).last),
      check: check("prompt"),
      write: (c, data) => promptWritten(roster, c, utf8(data)),
    }),
    leaf<AgentAt>("fifo", {
      ...asked,
      doc: "A write appends a prompt to the queue; a read takes the first one out.",
      // a read takes a prompt away that somebody was told will run
      ...rights("fifo", { self: "", kin: "w" }),
      read: (c) => popQueue(rt(c)),
      check: check("fifo"),
      write: (c, data) => enqueue(rt(c), utf8(data), askerOf(roster, c)),
    }),
    leaf<AgentAt>("queue", {
      mode: 0o666,
      doc: "The prompts that wait, a line each: id, writer, first 200 characters. Write drop ID, clear or up ID.",
      ...rights("queue", { kin: "r" }),
      ...text((c) => printQueue(rt(c))),
      write: (c, data) => editQueue(rt(c), utf8(data)),
    }),
    leaf<AgentAt>("inject", {
      ...asked,
      mode: 0o222,
      doc: "A text for the model, given with the next tool result; unused, it becomes the next prompt.",
      ...rights("inject", { self: "", kin: "w" }),
      check: check("inject"),
      write: (c, data) => inject(rt(c), utf8(data), askerOf(roster, c)),
    }),
    leaf<AgentAt>("feed", {
      ...asked,
      doc: "A write stores a text; a read waits until it differs from what this open file saw.",
      ...rights("feed", { kin: "w" }),
      blockOnce: nextFeed,
      write: writeFeed,
    }),
  ];
}

function chatFiles(): Node<AgentAt>[] {
  const log = rights("log", { kin: "r" });
  return [
    leaf<AgentAt>("chat", {
      doc: "The conversation as text, from the beginning on and then live; it ends when the agent is killed.",
      ...rights("chat", { kin: "r" }),
      stream: (c) => rt(c).chat.text.follow(),
      size: (c) => rt(c).chat.text.size,
      vers: (c) => rt(c).chat.raw.version,
    }),
    leaf<AgentAt>("chat.raw", {
      doc: "The conversation with its block markup (docs/chat-format.md), from the beginning on and then live.",
      ...rights("chat.raw", { kin: "r" }),
      stream: (c) => rt(c).chat.raw.follow(0),
      size: (c) => rt(c).chat.raw.size,
      vers: (c) => rt(c).chat.raw.version,
    }),
    leaf<AgentAt>("log", {
      doc: "The last 64 KB of chat.raw, from a line's start on.",
      ...log,
      read: (c) => rt(c).chat.raw.tail(limits.log),
      size: (c) => Math.min(rt(c).chat.raw.size, limits.log),
      vers: (c) => rt(c).chat.raw.version,
    }),
  ];
}

function stateFiles(): Node<AgentAt>[] {
  return [
    leaf<AgentAt>("state", {
      doc: "idle, thinking, calling: TOOL, connecting, compacting, limitretry or paused.",
      ...rights("state", { kin: "r", other: "r" }),
      ...text((c) => `${rt(c).watch.get("state")}\n`),
      vers: (c) => rt(c).watch.count("state"),
    }),
    leaf<AgentAt>("statewait", {
      mode: 0o666,
      doc:
        "A read waits for a state that differs from the one written to this open file, else from that at open; it " +
        "returns at once where it differs already. Read again at offset 0 for the next.",
      ...rights("statewait", { self: "rw", kin: "rw" }),
      blockOnce: nextState,
      write: setBaseline,
      max: 1024,
    }),
    leaf<AgentAt>("stats", {
      doc: "Counters, key=value a line: state, usage, cost, ctxsz, queued, held, in, out, cached, requests, steps.",
      ...rights("stats", { kin: "r" }),
      ...text((c) => statsOf(rt(c))),
    }),
  ];
}

function settingFiles(roster: Roster): Node<AgentAt>[] {
  return [
    leaf<AgentAt>("cfg", {
      mode: 0o644,
      commit: "close",
      max: limits.cfg,
      doc: "Settings, key=value a line: backend, model, agent, cwd and generation parameters. A write merges, all or nothing.",
      ...rights("cfg"),
      ...text((c) => printCfg(rt(c))),
      write: (c, data) => writeCfg(rt(c), utf8(data)),
    }),
    leaf<AgentAt>("ctl", {
      mode: 0o666,
      max: limits.ctl,
      doc: "Commands, one a line; write help for the list. All are checked before the first runs.",
      ...rights("ctl", { self: "rw", creator: "rw" }),
      rdwr: agentCtl(roster),
    }),
    leaf<AgentAt>("tools", {
      mode: 0o666,
      doc: "The loaded tools, a name a line. Write names to load more.",
      ...rights("tools", { self: "rw" }),
      ...text((c) => printTools(rt(c))),
      write: (c, data) => loadTools(rt(c), "tools", utf8(data)),
    }),
    leaf<AgentAt>("plan", {
      mode: 0o666,
      commit: "close",
      max: limits.prompt,
      doc: "The agent's plan, a markdown checklist.",
      ...rights("plan", { self: "rw", kin: "r", other: "r" }),
      ...text((c) => rt(c).plan),
      write: (c, data) => record(rt(c), { kind: "set", values: { plan: utf8(data) } }),
    }),
    leaf<AgentAt>("context", {
      doc: "The messages of the next request, one JSON object a line.",
      ...rights("context"),
      read: (c) => printContext(rt(c)),
    }),
    leaf<AgentAt>("systemprompt", {
      doc: "The system prompt as the model gets it.",
      ...rights("systemprompt"),
      ...text((c) => rt(c).system),
    }),
    leaf<AgentAt>("id", {
      doc: "The agent's UUID.",
      ...rights("id", { kin: "r", other: "r" }),
      ...text((c) => `${c.agent.id}\n`),
    }),
    leaf<AgentAt>("name", {
      mode: 0o644,
      doc: "The agent's name. A write renames it; open files follow.",
      ...rights("name", { self: "rw", kin: "r", other: "r" }),
      ...text((c) => `${c.agent.name}\n`),
      write: (c, data) => roster.rename(rt(c), utf8(data).trim()),
      max: 1024,
    }),
  ];
}
