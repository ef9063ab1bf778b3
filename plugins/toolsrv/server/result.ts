/** What the model reads about a call: never blank, the status first where it is not plain success. */
import { constants } from "node:os";
import type { ToolResult, ToolStatus } from "#plugins/toolsrv";
import { reduce } from "#plugins/toolsrv";
import type { Ended } from "./run.ts";

export interface Shown {
  timeout: number;
  exact: boolean;
  /** The sandbox profile that it ran under. */
  profile?: string | undefined;
}

export function toResult(ended: Ended, { timeout, exact, profile }: Shown): ToolResult {
  if (ended.error !== undefined) {
    const why =
      profile && ended.error.endsWith("EACCES") ? ` (sandbox profile "${profile}" does not grant rox on it)` : "";
    return { status: "refused", content: `the tool could not be started: ${ended.error}${why}` };
  }
  const status = statusOf(ended);
  const lines = [
    heading(ended, status, timeout),
    output(ended, exact ? (text) => text : reduce),
    leftovers(ended),
  ].filter((line) => line !== "");
  return {
    status,
    content: lines.join("\n") || "(no output, exit 0)",
    ...(ended.code === null ? {} : { exitCode: ended.code }),
    ...(ended.signal === null ? {} : { signal: ended.signal }),
  };
}

function statusOf(ended: Ended): ToolStatus {
  if (ended.cause) return ended.cause;
  return ended.code === 0 ? "ok" : "failed";
}

function heading(ended: Ended, status: ToolStatus, timeout: number): string {
  const blank = ended.head.trim() === "" && ended.omitted === 0;
  const behind = blank ? " (no output)" : "";
  switch (status) {
    case "ok":
      return blank ? "(no output, exit 0)" : "";
    case "timeout":
      return `timed out after ${timeout / 1000} s and was ended${blank ? " (no output)" : ", its output until then:"}`;
    case "cancelled":
      return `cancelled and ended${blank ? " (no output)" : ", its output until then:"}`;
    default:
      return ended.signal === null
        ? `exit status ${ended.code}${behind}`
        : `killed by signal ${numberOf(ended.signal)} (${ended.signal})${behind}`;
  }
}

/** Those for real time have no names: SIG40. */
const numberOf = (name: string): number => constants.signals[name as NodeJS.Signals] ?? Number(name.slice(3));

function output(ended: Ended, shown: (text: string) => string): string {
  const head = shown(ended.head);
  const joined =
    ended.omitted === 0
      ? head
      : `${head.replace(/\n$/, "")}\n[... ${ended.omitted} bytes left out ...]\n${shown(ended.tail)}`;
  return joined.trim() === "" ? "" : joined.replace(/\n$/, "");
}

function leftovers({ left, held, cause }: Ended): string {
  const list = left.map(({ pid, command }) => `${command} (pid ${pid})`).join(", ");
  if (cause) return list === "" ? "" : `[could not be ended: ${list}]`;
  if (list !== "")
    return `[left running in the background: ${list}; its further output is not kept, and it ends with the session]`;
  return held ? "[a process in the background still holds the output; what it writes is not kept]" : "";
}
