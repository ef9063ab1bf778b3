/**
 * The background processes of all sessions, as the daemon keeps them: it reads their output as it comes, so that it can be
 * served and told after their tool server has ended.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { NineError } from "#core";
import { type File, ORDWR, RemoteError } from "#core/client";
import type { Child } from "./child.ts";
import { type News, news } from "./news.ts";
import { type OutputLog, outputLog } from "./output-log.ts";
import { type ProcessEnd, parseEnd, printStatus } from "./status.ts";
import type { CallBody, ProcessChange, ToolProcess, ToolResult } from "./types.ts";

export interface Processes {
  /** Starts one. Never rejects. Undefined: the connection was gone before it was asked for, so nothing has run. */
  start(child: Child, body: Omit<CallBody, "id">): Promise<ToolResult | undefined>;
  list(session: string, agent: string): ToolProcess[];
  news(session: string, agent: string): string[];
  /** Of a session, those that run. */
  running(session: string): number;
  /** Forgets all of a session or agent. Ending them is not its business. */
  forget(session: string, agent?: string): void;
  onChange(fn: (process: ToolProcess, change: ProcessChange) => void): () => void;
}

export interface ProcessesOptions {
  /** Milliseconds behind the last read after which one that has ended goes. */
  keep: number;
  /** Most of a session at once. */
  limit: number;
}

/** A program that floods is read in steps of one message every so many milliseconds; what it drops out is said. */
const pace = 20;

interface Row extends ToolProcess {
  log: OutputLog;
  news: News;
  child: Child;
  end: ProcessEnd | undefined;
  /** performance.now() of the last read, or of the end. */
  read: number;
  collect: NodeJS.Timeout | undefined;
}

export function processes({ keep, limit }: ProcessesOptions): Processes {
  const rows = new Set<Row>();
  /** News of what is not in the list any more, by `session agent`. */
  const late = new Map<string, string[]>();
  /** By session: numbers given so far, and processes that are being started. */
  const counts = new Map<string, number>();
  const starting = new Map<string, number>();
  const watchers = new Set<(process: ToolProcess, change: ProcessChange) => void>();
  const tell = (row: Row, change: ProcessChange) => {
    for (const fn of watchers) fn(row, change);
  };
  const of = (session: string, agent?: string): Row[] =>
    [...rows].filter((row) => row.session === session && (agent === undefined || row.agent === agent));
  const running = (session: string) => of(session).filter(({ end }) => !end).length;

  const remove = (row: Row) => {
    if (!rows.delete(row)) return;
    clearTimeout(row.collect);
    row.log.end();
    tell(row, "gone");
  };

  /** What was not told yet is kept: an agent may be idle for long. */
  const dismiss = (row: Row) => {
    const text = row.news.take(row.end);
    const key = keyOf(row.session, row.agent);
    if (text !== undefined) late.set(key, [...(late.get(key) ?? []), text].slice(-limit));
    remove(row);
  };

  const collect = (row: Row) => {
    const rest = row.read + keep - performance.now();
    if (rest <= 0) return dismiss(row);
    row.collect = setTimeout(() => collect(row), rest).unref();
  };

  const ended = (row: Row, end: ProcessEnd) => {
    row.end = end;
    row.read = performance.now();
    if (rows.has(row)) tell(row, "exit");
    row.log.end();
    if (!rows.has(row)) return;
    collect(row);
    const old = of(row.session).filter((one) => one.end);
    for (const one of old.slice(0, Math.max(0, old.length - limit))) dismiss(one);
  };

  const follow = async (row: Row) => {
    const { client } = row.child;
    try {
      for await (const chunk of client.stream(`proc/${row.id}/out`)) {
        row.log.push(chunk);
        row.news.push(chunk);
        if (chunk.length >= 16_384) await sleep(pace);
      }
      const status = (await client.read(`proc/${row.id}/status`)).toString("utf8");
      ended(row, parseEnd(status) ?? lost);
      await client.write(`proc/${row.id}/ctl`, "dismiss");
    } catch {
      if (!row.end) ended(row, lost);
    }
  };

  return {
    async start(child, body) {
      const { session } = body;
      if (running(session) + (starting.get(session) ?? 0) >= limit)
        return refused(
          `${body.tool}: this session has ${limit} processes in the background (limit: processes), end one first`,
        );
      const id = String((counts.get(session) ?? 0) + 1);
      counts.set(session, Number(id));
      starting.set(session, (starting.get(session) ?? 0) + 1);
      const reply = await ask(child, { ...body, id });
      starting.set(session, (starting.get(session) ?? 1) - 1);
      if (typeof reply !== "string") return reply;
      const row = makeRow(child, { ...body, id, pid: Number(/^pid=(\d+)$/m.exec(reply)?.[1]) }, dismiss);
      rows.add(row);
      tell(row, "start");
      void follow(row);
      return {
        status: "ok",
        content: `process ${id} (pid ${row.pid}) runs in the background; what it writes, and its end, will be told with later results`,
      };
    },
    list: (session, agent) => of(session, agent),
    news(session, agent) {
      const texts = late.get(keyOf(session, agent)) ?? [];
      late.delete(keyOf(session, agent));
      for (const row of of(session, agent)) {
        const text = row.news.take(row.end);
        if (text !== undefined) texts.push(text);
      }
      return texts;
    },
    running,
    forget(session, agent) {
      for (const row of of(session, agent)) remove(row);
      const gone = keyOf(session, agent ?? "");
      for (const key of late.keys()) if (key.startsWith(gone)) late.delete(key);
      if (agent !== undefined) return;
      counts.delete(session);
      starting.delete(session);
    },
    onChange(fn) {
      watchers.add(fn);
      return () => watchers.delete(fn);
    },
  };
}

/** The status of the new process; a result where there is none. */
async function ask({ client }: Child, body: CallBody): Promise<string | ToolResult | undefined> {
  let file: File | undefined;
  try {
    file = await client.open("proc/new.bg", ORDWR);
    await file.write(JSON.stringify(body));
    let reply = "";
    for await (const chunk of file.stream()) reply += chunk.toString("utf8");
    return reply;
  } catch (error) {
    if (error instanceof RemoteError) return refused(error.message);
    return file && { status: "lost", content: "the tool server ended while it started the process, and all with it" };
  } finally {
    file?.close().catch(() => {});
  }
}

const keyOf = (session: string, agent: string): string => `${session} ${agent}`;

const lost: ProcessEnd = { code: null, signal: null, cause: "lost", left: [] };

const refused = (content: string): ToolResult => ({ status: "refused", content });

function makeRow(child: Child, body: CallBody & { pid: number }, dismiss: (row: Row) => void): Row {
  const { id, session, agent, tool, pid } = body;
  const log = outputLog();
  const title = titleOf(tool, body.args);
  const command = async (verb: string) => {
    if (!row.end) await child.client.write(`proc/${id}/ctl`, verb);
  };
  const row: Row = {
    ...{ id, session, agent, tool, title, pid, log, child },
    news: news(`process ${id} (${title})`),
    end: undefined,
    read: performance.now(),
    collect: undefined,
    status() {
      row.read = performance.now();
      return `${printStatus(row)}title=${title}\nbytes=${log.size}\n`;
    },
    out: () => log.reader(() => (row.read = performance.now())),
    term: () => command("term"),
    kill: () => command("kill"),
    dismiss() {
      if (!row.end) throw new NineError(`proc/${id}/ctl: it runs (term or kill it first)`);
      dismiss(row);
    },
  };
  return row;
}

/** The tool and the first text that it was given. */
function titleOf(tool: string, args: Record<string, unknown>): string {
  const first = Object.values(args).find((value) => typeof value === "string") ?? "";
  const line = String(first)
    .replace(/[\s\p{Cc}]+/gu, " ")
    .trim();
  return line === "" ? tool : `${tool}: ${line.length > 60 ? `${line.slice(0, 60)}…` : line}`;
}
